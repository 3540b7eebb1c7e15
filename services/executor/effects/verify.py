"""Verifying an execution: read its objects again and publish what became of them."""

from __future__ import annotations

from schemas.outcome import OutcomeVerification
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.cluster import read_object
from services.executor.effects.context import EffectContext
from services.executor.ledger import Execution, Ledger
from services.executor.verification import has_reached_end, judge_execution


async def verify(context: EffectContext, state: Ledger, execution: Execution) -> bool:
    """Publish whether the cluster shows what an execution wanted.

    Returns:
        False when the cluster could not be read: the next step has to try again.
    """
    try:
        objects = [
            await read_object(context.transport, operation) for operation in execution.operations
        ]
    except (ClusterUnavailable, ClusterRefused) as error:
        context.log.warning("not verified yet", cycle=execution.cycle, error=str(error))
        return False
    ends = tuple(
        has_reached_end(operation, current)
        for operation, current in zip(execution.operations, objects, strict=True)
    )
    judgement = judge_execution(execution, ends, state)
    verification = OutcomeVerification(
        cycle=execution.cycle,
        cluster_time_seconds=state.seen.cluster_time_seconds,
        decision_id=execution.decision_id,
        execution_id=execution.execution_id,
        observed_cycle=state.seen.cycle,
        status=judgement.status,
        checks=judgement.checks,
        lag_seconds=round(state.seen.cluster_time_seconds - execution.time_seconds, 6),
        reason=judgement.reason,
        text=judgement.text,
    )
    await context.publish(verification, (execution.execution_id, state.seen.id))
    return True
