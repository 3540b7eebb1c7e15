"""The writes that take an execution back: its undo patches, for what still shows that we wrote it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from schemas.outcome import Operation, Verb
from schemas.surge import OWNER_REPLICAS
from services.cluster import Transport
from services.executor.desired_state import has_reached_end
from services.executor.ledger import Execution, Ledger
from services.executor.ledger.handler import what_stands
from services.executor.plans.planned import canonical_json
from services.executor.plans.scale_ups import read_scale_up
from services.executor.reading.objects import read_object
from services.rights.executor import AUTOSCALERS

_OWN_UNDO = frozenset({Verb.RESIZE, Verb.RUN, Verb.TAINT})
"""Verbs whose undo is done by the same verb."""
_UP = "up"


async def read_undo_operations(
    transport: Transport, state: Ledger, execution: Execution
) -> tuple[Operation, ...]:
    """Return what takes back the operations of an execution that still stand, last first.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    standing = []
    for operation in execution.operations:
        current = await read_object(transport, operation)
        if current is None or not operation.undo:
            continue
        if has_reached_end(operation, current):
            standing.append(_as_found(operation, current))
        elif _stands_in_part(operation, current, _raised_later(state, execution, operation)):
            standing.append(_as_found(_as_it_is(operation, current), current))
    return undo_operations(standing)


def _as_found(operation: Operation, current: dict[str, Any]) -> Operation:
    metadata = current["metadata"]
    found = {"resource_version": str(metadata["resourceVersion"]), "uid": metadata["uid"]}
    return operation.model_copy(update=found)


def _raised_later(state: Ledger, execution: Execution, operation: Operation) -> bool:
    """Say whether a raise that stands was made on the same object after an execution."""
    place = operation.resource, operation.namespace, operation.name
    return any(
        one.place > execution.place
        and one.direction == _UP
        and any((each.resource, each.namespace, each.name) == place for each in one.operations)
        for one in what_stands(state.executions)
    )


def _stands_in_part(operation: Operation, current: dict[str, Any], raised_later: bool) -> bool:
    """Say whether an object still has replicas of ours, although not as many as a raise gave it: some were given
    back since, and nothing but that raise is left to give back.
    """
    number = _number(operation, current)
    notes = current["metadata"].get("annotations") or {}
    if number is None or raised_later or OWNER_REPLICAS not in operation.patch:
        return False
    raised = read_scale_up(notes)
    before = json.loads(operation.undo)["spec"][_field(operation)]
    return raised is not None and raised.ours == number and before < number


def _as_it_is(operation: Operation, current: dict[str, Any]) -> Operation:
    """Return a raise as if it had written what the object shows, so that its undo is undone to that."""
    field, note = _field(operation), current["metadata"]["annotations"][OWNER_REPLICAS]
    patch = {
        "metadata": {"annotations": {OWNER_REPLICAS: note}},
        "spec": {field: _number(operation, current)},
    }
    return operation.model_copy(update={"patch": canonical_json(patch)})


def _field(operation: Operation) -> str:
    return "minReplicas" if operation.resource == AUTOSCALERS else "replicas"


def _number(operation: Operation, current: dict[str, Any]) -> int | None:
    number = (current.get("spec") or {}).get(_field(operation))
    return number if isinstance(number, int) else None


def _what_it_shows(operation: Operation) -> str:
    """Return what an object shows while an operation stands; by it a write that met somebody else's is sent again."""
    if operation.verb is Verb.SCALE:
        return canonical_json({"spec": {"replicas": operation.replicas}})
    return operation.patch


def undo_operations(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    """Return the operations that take others back, last first; none for what cannot be taken back."""
    undos = []
    for operation in reversed(operations):
        if not operation.undo:
            continue
        if operation.verb is Verb.CREATE:
            undo = {"verb": Verb.DELETE, "undo": "", "text": f"take back: {operation.text}"}
            undos.append(operation.model_copy(update=undo))
            continue
        undos.append(
            operation.model_copy(
                update={
                    "verb": operation.verb if operation.verb in _OWN_UNDO else Verb.PATCH,
                    "patch": operation.undo,
                    "undo": _what_it_shows(operation),
                    "replicas": None,
                    "text": f"take back: {operation.text}",
                }
            )
        )
    return tuple(undos)
