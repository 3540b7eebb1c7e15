"""The end that an operation wants, and whether an object, as the API shows it, is as it was wanted."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from schemas.outcome import Operation, Verb
from services.executor.plans.planned import apply_merge_patch
from services.executor.plans.resizing import is_in_force, shows_amounts
from services.executor.plans.taints import shows_taints


class DesiredState(StrEnum):
    """State of an operation's object beside the desired one."""

    REACHED = "reached"
    NOT_REACHED = "not_reached"
    GONE = "gone"
    """The object does not exist any more."""


def has_reached_end(operation: Operation, current: dict[str, Any] | None) -> bool:
    """Say whether an object (None: it is gone) is as the operation wanted it."""
    if operation.verb in {Verb.EVICT, Verb.DELETE}:
        return current is None or current["metadata"].get("uid") != operation.uid
    if current is None:
        return False
    if operation.verb is Verb.SCALE:
        return (current.get("spec") or {}).get("replicas") == operation.replicas
    if operation.verb is Verb.CREATE:
        return _is_ours(current, json.loads(operation.patch))
    if operation.verb is Verb.RUN:  # what it did shows nowhere in the API
        return operation.uid in {"", current["metadata"].get("uid")}
    return shows_patch(operation, current, operation.patch)


def _is_ours(current: dict[str, Any], created: dict[str, Any]) -> bool:
    """Say whether an object is the one that we created, with what we wrote of it."""
    notes = current["metadata"].get("annotations") or {}
    own = created["metadata"]["annotations"].items()
    return all(notes.get(name) == text for name, text in own) and already_shows(
        current, {"spec": created["spec"]}
    )


def shows_patch(operation: Operation, current: dict[str, Any], patch: str) -> bool:
    """Say whether an object is already as a patch or undo of an operation wants it."""
    if operation.verb is Verb.RESIZE:
        same = operation.uid in {"", current["metadata"].get("uid")}
        return same and shows_amounts(current, patch)
    if operation.verb is Verb.TAINT:
        return shows_taints(current, patch)
    return already_shows(current, json.loads(patch))


def end_shown(operation: Operation, current: dict[str, Any] | None) -> DesiredState:
    """Return what an object (None: it is gone) shows of an operation's end; more replicas than were wanted
    will do, and an object of the same name made anew is another one.
    """
    if operation.verb is Verb.CREATE and current is None:
        return DesiredState.GONE
    removes = operation.verb in {Verb.EVICT, Verb.DELETE}
    if operation.verb is Verb.DELETE and current and current["metadata"].get("deletionTimestamp"):
        return DesiredState.REACHED  # finalizers drain and end the machine in their own time
    if not removes and (
        current is None or operation.uid not in {"", current["metadata"].get("uid")}
    ):
        return DesiredState.GONE
    if operation.verb is Verb.SCALE and current is not None:
        replicas = (current.get("spec") or {}).get("replicas")
        reached = isinstance(replicas, int) and replicas >= (operation.replicas or 0)
    else:
        reached = has_reached_end(operation, current)
    if operation.verb is Verb.RESIZE and current is not None:
        reached = reached and is_in_force(current)
    return DesiredState.REACHED if reached else DesiredState.NOT_REACHED


def already_shows(current: Any, patch: Any) -> bool:
    """Say whether an object is already as a merge patch wants it.

    The API leaves out what is empty, so absent, null, false and empty are one.
    """
    return bool(_without_empty(apply_merge_patch(current, patch)) == _without_empty(current))


def _without_empty(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    filled = {name: _without_empty(inner) for name, inner in value.items()}
    return {name: inner for name, inner in filled.items() if inner not in (None, False, [], {}, "")}
