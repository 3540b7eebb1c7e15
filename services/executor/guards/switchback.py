"""switchback: in a block that does not act nothing is executed, so that not acting is seen, too."""

from __future__ import annotations

from projections.switchback.schedule import CLUSTER
from projections.switchback.text import acting_text, held_text
from schemas.actions import ActionKind
from schemas.outcome import GuardCheck
from schemas.reasons import Reason
from services.executor.guards import Guard, Needs, Question, guard_check


def check(question: Question) -> GuardCheck | None:
    """Fail in a block that holds the whole cluster; where namespaces differ, the plan decides later."""
    by_time = question.settings.switchback.unit == "time"
    if not by_time or question.due.action.kind is ActionKind.NOOP:
        return None
    return _check_units("switchback", question, (CLUSTER,))


def check_namespaces(question: Question) -> GuardCheck | None:
    """Fail when the plan writes to a namespace, or to a node, that the block holds."""
    settings = question.settings.switchback
    if settings.unit != "namespace" or question.planned is None:
        return None
    units = settings.units_of(operation.namespace for operation in question.planned.operations)
    return _check_units("switchback_namespaces", question, units)


def _check_units(guard: str, question: Question, units: tuple[str, ...]) -> GuardCheck:
    settings, now = question.settings.switchback, question.state.seen.cluster_time_seconds
    block, held = settings.block_at(now), settings.held_units(now, units)
    text = held_text(settings, block, held) if held else acting_text(block)
    return guard_check(guard, passed=not held, reason=Reason.SWITCHBACK, text=text)


GUARDS = (
    Guard("switchback", Needs.LOG, 40, check),
    Guard("switchback_namespaces", Needs.PLAN, 5, check_namespaces),
)
