"""Rolling an execution back: undo what still stands; what others changed since is left to them."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.execution.context import SideEffectContext
from services.executor.ledger import Execution, Ledger
from services.executor.undo.operations import read_undo_operations


def rollback_order(context: SideEffectContext, state: Ledger) -> Iterable[Execution]:
    """Return executions in the order in which they are taken back.

    A block that does not act, a breaker that has tripped, an operator and the end of an exercise take back many at
    once, so the newest first: each one's undo states what was before it alone.
    """
    wished = state.undo or state.undo_parts or state.exercised
    many = context.settings.switchback.enabled or state.breakers or wished
    return reversed(state.executions) if many else state.executions


async def roll_back(
    context: SideEffectContext, state: Ledger, execution: Execution, cause: str
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
