"""Verification: does the cluster show what an execution wanted, and did it get worse in the way the
action can cause?
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any

from schemas.actions import ActionKind
from schemas.model import DataModel
from schemas.outcome import GuardCheck, Mode, Operation, Verb, VerificationStatus
from schemas.reasons import Reason
from services.executor.facts import already_shows
from services.executor.harm import WAITS_FOR_PODS, AffectedPods, harm_checks
from services.executor.ledger import Execution, Ledger
from services.executor.resizing import is_in_force, shows_amounts
from services.executor.taints import shows_taints

GRACE_SECONDS = 300.0
"""Cluster time that new pods have to get a node and become ready, where one may have to be bought first."""


class End(StrEnum):
    """What an operation's object shows of the end that was wanted."""

    REACHED = "reached"
    NOT_REACHED = "not_reached"
    GONE = "gone"
    """The object does not exist any more."""


class Judgement(DataModel):
    """How an execution turned out."""

    status: VerificationStatus
    checks: tuple[GuardCheck, ...]
    reason: Reason | None = None
    text: str


def due_for_verification(state: Ledger, cycles: int) -> list[Execution]:
    """Return finished, successful executions to be looked at now.

    They are settled `cycles` observations later; one that asks for a number of replicas is looked at from the
    first observation on, since somebody may soon want another number.
    """
    return [
        execution
        for execution in state.executions
        if execution.succeeded
        and not execution.verified
        and not execution.rolled_back
        and state.seen.cycle
        >= execution.begun_cycle + (1 if counts_at_any_look(execution) else cycles)
    ]


def counts_at_any_look(execution: Execution) -> bool:
    """Say whether an end that was shown once counts: a number of replicas, whichever write asked for it."""
    return execution.action.kind is ActionKind.REPLICATE


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


def end_shown(operation: Operation, current: dict[str, Any] | None) -> End:
    """Return what an object (None: it is gone) shows of an operation's end; more replicas than were wanted
    will do, and an object of the same name made anew is another one.
    """
    if operation.verb is Verb.CREATE and current is None:
        return End.GONE
    removes = operation.verb in {Verb.EVICT, Verb.DELETE}
    if operation.verb is Verb.DELETE and current and current["metadata"].get("deletionTimestamp"):
        return End.REACHED  # finalizers drain and end the machine in their own time
    if not removes and (
        current is None or operation.uid not in {"", current["metadata"].get("uid")}
    ):
        return End.GONE
    if operation.verb is Verb.SCALE and current is not None:
        replicas = (current.get("spec") or {}).get("replicas")
        reached = isinstance(replicas, int) and replicas >= (operation.replicas or 0)
    else:
        reached = has_reached_end(operation, current)
    if operation.verb is Verb.RESIZE and current is not None:
        reached = reached and is_in_force(current)
    return End.REACHED if reached else End.NOT_REACHED


def judge_execution(
    execution: Execution,
    ends: tuple[End, ...],
    state: Ledger,
    affected: AffectedPods,
    answers: tuple[GuardCheck, ...] = (),
) -> Judgement | None:
    """Judge an execution by its operations' ends and by what it can have harmed.

    Args:
        execution: that is judged.
        ends: what each of its operations' objects shows.
        state: with the newest observation.
        affected: what the cluster shows of its workloads.
        answers: of node agents, to the limits that it wrote.

    Returns:
        None while pods that it made necessary are not ready but have time left.
    """
    if execution.mode is Mode.SHADOW:
        return Judgement(
            status=VerificationStatus.UNVERIFIABLE,
            checks=(),
            reason=Reason.SHADOW_MODE,
            text="nothing was written in shadow mode",
        )
    harms = harm_checks(execution, state, affected)
    harm = next((check for check in harms if not check.passed), None)
    age_seconds = state.seen.cluster_time_seconds - execution.time_seconds
    if harm and execution.action.kind in WAITS_FOR_PODS and age_seconds < GRACE_SECONDS:
        return None
    if hands_back(execution):  # then the node goes, and that is what was wanted
        ends = tuple(End.REACHED if end is End.GONE else end for end in ends)
    end = _end_check(ends)
    status, reason, text = VerificationStatus.VERIFIED, None, end.text
    if harm is not None:
        status, reason, text = VerificationStatus.WORSE, Reason.WORSE_THAN_BEFORE, harm.text
    elif End.GONE in ends:
        status, reason = VerificationStatus.GONE, Reason.TARGET_GONE
    elif not end.passed:
        status, reason = VerificationStatus.FAILED, Reason.NOT_OBSERVED
        text = next((one.text for one in answers if not one.passed), text)
    return Judgement(status=status, checks=(end, *answers, *harms), reason=reason, text=text)


def hands_back(execution: Execution) -> bool:
    """Say whether an execution ends, or should have ended, the machine under a node."""
    return any(
        one.verb is Verb.RUN or (one.verb is Verb.DELETE and one.resource == "nodeclaims")
        for one in execution.operations
    )


def _end_check(ends: tuple[End, ...]) -> GuardCheck:
    reached, gone = ends.count(End.REACHED), ends.count(End.GONE)
    text = f"{reached} of {len(ends)} operations show their end"
    return GuardCheck(
        guard="end_reached",
        passed=reached == len(ends),
        measured=reached,
        limit=len(ends),
        unit="operations",
        text=f"{text}; what {gone} wrote is gone" if gone else text,
    )
