"""Why an execution is taken back: the operator, the end of an exercise, harm, its own time, a breaker, a block that
does not act.
"""

from __future__ import annotations

from projections.breaker.text import standing_text
from projections.standing import is_reversible
from projections.switchback.schedule import SwitchbackSettings
from projections.switchback.text import held_text
from schemas.breaker import BreakerCause, BreakerState
from schemas.outcome import ExecutionPhase, Mode
from services.executor.execution.context import SideEffectContext
from services.executor.ledger import Execution, Ledger
from services.executor.plans.resize import RESIZE, TAINT
from services.executor.plans.resource_cap import MEANS
from services.executor.verification.judging import hands_back

DID_HARM = frozenset({BreakerCause.HARM, BreakerCause.SWITCHBACK, BreakerCause.WORSE})
"""Causes for which what stands is taken back: the others say nothing against what was done already."""
EXPIRING = frozenset({RESIZE, TAINT, MEANS})
"""Means of limits that end by themselves."""


def rollback_cause(context: SideEffectContext, state: Ledger, execution: Execution) -> str:
    """Return in words why an execution has to be rolled back; empty when it has not."""
    if execution.rolled_back or execution.phase is not ExecutionPhase.FINISHED:
        return ""
    if context.mode_for(state, execution) is not execution.mode:
        return ""  # it waits for the active mode: a dry run takes nothing back
    if execution.cycle in state.undo or execution.place in state.undo_parts:
        return "the operator asked for it"
    if state.in_exercise(execution.cycle) and is_reversible(execution):
        return "the exerciser's phase is over"
    if execution.succeeded is False and context.settings.roll_back and hands_back(execution):
        return "its machine was not handed back"
    if execution.half_done and context.settings.roll_back and execution.mode is Mode.ACTIVE:
        return "only a part of it was done"
    if expired := _expired_cause(context, state, execution):
        return expired
    if execution.worse and context.settings.roll_back:
        return "it got worse"
    if context.settings.roll_back and (tripped := _tripped_cause(state, execution)):
        return tripped
    switchback = context.settings.switchback
    now_seconds = state.seen.cluster_time_seconds
    return _held_cause(switchback, execution, now_seconds) if switchback.enabled else ""


def _expired_cause(context: SideEffectContext, state: Ledger, execution: Execution) -> str:
    """Return that a limit has stood for its time; empty: it is none, or not over."""
    seconds = context.settings.limit_seconds
    age_seconds = state.seen.cluster_time_seconds - execution.time_seconds
    if execution.means not in EXPIRING or not seconds or age_seconds < seconds:
        return ""
    return f"its {seconds:g} s are over"


def _tripped_cause(state: Ledger, execution: Execution) -> str:
    """Return why an execution has to be taken back by a breaker; empty where it has not.

    What was added before a breaker tripped for harm goes on doing it. What gave something back stays so.
    """
    if not is_reversible(execution):
        return ""
    harmful = (
        one
        for one in state.breakers_of(execution.action.kind)
        if one.state is BreakerState.SHADOW and one.cause in DID_HARM
    )
    breaker = next(harmful, None)
    return "" if breaker is None else standing_text(breaker)


def _held_cause(settings: SwitchbackSettings, execution: Execution, now_seconds: float) -> str:
    """Return why an execution of an earlier block has to be taken back now; empty where it has not.

    Without that, a block that does not act would still have what acting did: nodes that sleep, replicas that
    were added. What cannot be taken back, such as an eviction, has to fade during the wash-out.
    """
    if not is_reversible(execution):
        return ""
    units = settings.units_of(operation.namespace for operation in execution.operations)
    held = settings.held_units(now_seconds, units)
    return held_text(settings, settings.block_at(now_seconds), held) if held else ""
