"""Rolling an execution back: undo what still stands; what others changed since is left to them."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.left_behind import LeftBehindAnswer
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.breaker import tripped_cause
from services.executor.effects.context import EffectContext
from services.executor.effects.undoing import read_undo_operations
from services.executor.ledger import Execution, Ledger, what_stands
from services.executor.plans.node_limits import NODE_AGENT
from services.executor.plans.resize import RESIZE, TAINT
from services.executor.plans.resource_cap import MEANS
from services.executor.switchback import held_cause
from services.executor.verification import hands_back

EXPIRING = frozenset({RESIZE, TAINT, MEANS, NODE_AGENT})
"""Means of limits that end by themselves."""


def rollback_cause(context: EffectContext, state: Ledger, execution: Execution) -> str:
    """Return in words why an execution has to be rolled back; empty when it has not."""
    if execution.rolled_back or execution.phase is not ExecutionPhase.FINISHED:
        return ""
    if context.mode_for(state, execution) is not execution.mode:
        return ""  # it waits for the active mode: a dry run takes nothing back
    if execution.cycle in state.undo or execution.place in state.undo_parts:
        return "the operator asked for it"
    if execution.left_behind is LeftBehindAnswer.GIVE_BACK:
        return "an earlier stack left it"
    if execution.succeeded is False and context.settings.roll_back and hands_back(execution):
        return "its machine was not handed back"
    if execution.half_done and context.settings.roll_back and execution.mode is Mode.ACTIVE:
        return "only a part of it was done"
    if expired := _expired_cause(context, state, execution):
        return expired
    if execution.worse and context.settings.roll_back:
        return "it got worse"
    if context.settings.roll_back and (tripped := tripped_cause(state, execution)):
        return tripped
    switchback = context.settings.switchback
    now_seconds = state.seen.cluster_time_seconds
    return held_cause(switchback, execution, now_seconds) if switchback.enabled else ""


def _expired_cause(context: EffectContext, state: Ledger, execution: Execution) -> str:
    """Return that an action has stood for its time; empty: that is not over, or nothing of it stands."""
    settings = context.settings
    limit = execution.means in EXPIRING
    seconds = settings.limit_seconds if limit else settings.stands_seconds
    age_seconds = state.seen.cluster_time_seconds - execution.time_seconds
    if not seconds or age_seconds < seconds:
        return ""
    if not limit and execution.place not in {one.place for one in what_stands(state.executions)}:
        return ""
    return f"its {seconds:g} s are over"


def rollback_order(context: EffectContext, state: Ledger) -> Iterable[Execution]:
    """Return executions in the order in which they are taken back.

    A block that does not act, a breaker that has tripped and an operator take back many at once, so the newest
    first: each one's undo states what was before it alone.
    """
    wished = state.undo or state.undo_parts
    many = context.settings.switchback.enabled or state.breakers or wished
    return reversed(state.executions) if many else state.executions


async def roll_back(
    context: EffectContext, state: Ledger, execution: Execution, cause: str
) -> bool:
    """Write the undo operations of an execution, or publish that nothing of it is left.

    Returns:
        False when the cluster could not be read: the next step has to try again.
    """
    try:
        operations = await read_undo_operations(context.transport, state, execution)
    except (ClusterUnavailable, ClusterRefused) as error:
        context.log.warning("not taken back yet", cycle=execution.cycle, error=str(error))
        return False
    started = OutcomeExecution(
        cycle=execution.cycle,
        part=execution.part,
        cluster_time_seconds=state.seen.cluster_time_seconds,
        decision_id=execution.decision_id,
        phase=ExecutionPhase.STARTED,
        mode=execution.mode,
        action=execution.action,
        operations=operations,
        text=f"take back {execution.action.kind}: {cause}",
        rollback_of=execution.execution_id,
        retry=execution.rollbacks_failed,
    )
    if not operations:
        refused = started.model_copy(
            update={
                "phase": ExecutionPhase.REFUSED,
                "reason": Reason.TARGET_CHANGED,
                "text": "nothing of it is left that could be taken back",
            }
        )
        await context.publish(refused, (execution.execution_id,))
        return True
    started_id = execution.rollback_id or await context.publish(
        started, (execution.execution_id, state.seen.id)
    )
    await context.write_plan(state, started, started_id)
    return True
