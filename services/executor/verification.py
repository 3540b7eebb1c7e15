"""Verification: does the cluster show what an execution wanted, and did it get worse in the way the
action can cause?
"""

from __future__ import annotations

import json
from typing import Any

from schemas.actions import ActionKind
from schemas.model import DataModel
from schemas.outcome import GuardCheck, Mode, Operation, Verb, VerificationStatus
from schemas.reasons import Reason
from services.executor.facts import already_shows
from services.executor.ledger import Execution, Ledger

TAKES_CAPACITY = frozenset({ActionKind.POWER_STATE, ActionKind.RESOURCE_CAP})
"""Kinds that can make pods wait for capacity."""


class Judgement(DataModel):
    """How an execution turned out."""

    status: VerificationStatus
    checks: tuple[GuardCheck, ...]
    reason: Reason | None = None
    text: str


def due_for_verification(state: Ledger, cycles: int) -> list[Execution]:
    """Return finished, successful executions that later observations can settle now."""
    return [
        execution
        for execution in state.executions
        if execution.succeeded
        and not execution.verified
        and not execution.rolled_back
        and state.seen.cycle >= execution.cycle + cycles
    ]


def has_reached_end(operation: Operation, current: dict[str, Any] | None) -> bool:
    """Say whether an object (None: it is gone) is as the operation wanted it."""
    if operation.verb in {Verb.EVICT, Verb.DELETE}:
        return current is None or current["metadata"].get("uid") != operation.uid
    if current is None:
        return False
    if operation.verb is Verb.SCALE:
        return (current.get("spec") or {}).get("replicas") == operation.replicas
    return already_shows(current, json.loads(operation.patch))


def judge_execution(execution: Execution, ends: tuple[bool, ...], state: Ledger) -> Judgement:
    """Judge an execution by its operations' ends and by the newest observation."""
    if execution.mode is Mode.SHADOW:
        return Judgement(
            status=VerificationStatus.UNVERIFIABLE,
            checks=(),
            reason=Reason.SHADOW_MODE,
            text="nothing was written in shadow mode",
        )
    reached = sum(ends)
    checks = [
        GuardCheck(
            guard="end_reached",
            passed=reached == len(ends),
            measured=reached,
            limit=len(ends),
            unit="operations",
            text=f"{reached} of {len(ends)} operations show their end",
        )
    ]
    if execution.action.kind in TAKES_CAPACITY and execution.direction != "on":
        checks.append(
            GuardCheck(
                guard="capacity_pressure",
                passed=state.seen.pressure <= execution.pressure,
                measured=state.seen.pressure,
                limit=execution.pressure,
                unit="pods",
                text=f"{state.seen.pressure} pods wait for capacity, {execution.pressure} before",
            )
        )
        if not checks[-1].passed:
            text = (
                f"pods waiting for capacity rose from {execution.pressure} to {state.seen.pressure}"
            )
            return Judgement(
                status=VerificationStatus.WORSE,
                checks=tuple(checks),
                reason=Reason.WORSE_THAN_BEFORE,
                text=text,
            )
    if reached == len(ends):
        return Judgement(
            status=VerificationStatus.VERIFIED, checks=tuple(checks), text=checks[0].text
        )
    return Judgement(
        status=VerificationStatus.FAILED,
        checks=tuple(checks),
        reason=Reason.NOT_OBSERVED,
        text=checks[0].text,
    )


def undo_operations(execution: Execution) -> tuple[Operation, ...]:
    """Return the operations that take an execution back, last first; empty when it cannot be taken
    back.
    """
    undos = []
    for operation in reversed(execution.operations):
        if not operation.undo:
            continue
        undos.append(
            operation.model_copy(
                update={
                    "verb": Verb.PATCH,
                    "patch": operation.undo,
                    "undo": operation.patch,
                    "replicas": None,
                    "text": f"take back: {operation.text}",
                }
            )
        )
    return tuple(undos)
