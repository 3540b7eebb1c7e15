"""earlier_part: what an earlier part of the same decision has touched is left alone by the later ones, so that
parts can be verified and taken back each by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.actions import TargetKind
from schemas.outcome import GuardCheck, Operation
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, found_check
from services.executor.ledger import Execution


def check(question: Question) -> GuardCheck | None:
    """Fail when an execution of the same decision shares target, workload or object; a first part has none."""
    if question.due.part == 0 or question.planned is None:
        return None
    conflicts = [
        f"part {execution.part} ({execution.action.kind}) has touched the same node, queue or workload"
        for execution in question.state.executions
        if execution.cycle == question.due.cycle and _conflicts(question, execution)
    ]
    return found_check("earlier_part", conflicts, Reason.EARLIER_PART, "parts")


def _conflicts(question: Question, execution: Execution) -> bool:
    planned = question.planned
    assert planned is not None
    target = question.due.action.target
    same_target = target.kind is not TargetKind.NONE and target == execution.action.target
    same_workload = not set(planned.workloads).isdisjoint(execution.workloads)
    same_object = not _objects(planned.operations).isdisjoint(_objects(execution.operations))
    return same_target or same_workload or same_object


def _objects(operations: Iterable[Operation]) -> set[tuple[str, str, str]]:
    return {(one.resource, one.namespace, one.name) for one in operations}


GUARDS = (Guard("earlier_part", Needs.PLAN, 8, check),)
