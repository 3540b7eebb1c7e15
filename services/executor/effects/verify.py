"""Verifying an execution: read its objects again and publish what became of them."""

from __future__ import annotations

from schemas.outcome import OutcomeVerification
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.agent_answers import agent_check
from services.executor.cluster import read_object
from services.executor.effects.affected import read_affected
from services.executor.effects.context import EffectContext
from services.executor.ledger import Execution, Ledger
from services.executor.looks import Looks
from services.executor.verification import End, counts_at_any_look, end_shown, judge_execution


async def verify(context: EffectContext, looks: Looks, state: Ledger, execution: Execution) -> bool:
    """Publish whether the cluster shows what an execution wanted, once that can be settled.

    Returns:
        False when it is not settled: the cluster could not be read, or the execution needs time.
    """
    cycle = state.seen.cycle
    if looks.has_seen(execution.execution_id, cycle):
        return False
    try:
        objects = [
            await read_object(context.transport, operation) for operation in execution.operations
        ]
        affected = await read_affected(context.transport, execution)
    except (ClusterUnavailable, ClusterRefused) as error:
        context.log.warning("not verified yet", cycle=execution.cycle, error=str(error))
        return False
    shown = [
        end_shown(operation, current)
        for operation, current in zip(execution.operations, objects, strict=True)
    ]
    answers = [
        agent_check(operation, current)
        for operation, current in zip(execution.operations, objects, strict=True)
    ]
    shown = [
        End.NOT_REACHED if answer and not answer.passed and end is End.REACHED else end
        for end, answer in zip(shown, answers, strict=True)
    ]
    at_any_look = looks.add(execution.execution_id, cycle, shown)
    ends = at_any_look if counts_at_any_look(execution) else tuple(shown)
    if cycle < execution.begun_cycle + context.settings.verify_cycles:
        return False
    told = tuple(answer for answer in answers if answer is not None)
    judgement = judge_execution(execution, ends, state, affected, told)
    if judgement is None:
        return False
    verification = OutcomeVerification(
        cycle=execution.cycle,
        part=execution.part,
        cluster_time_seconds=state.seen.cluster_time_seconds,
        decision_id=execution.decision_id,
        execution_id=execution.execution_id,
        observed_cycle=cycle,
        status=judgement.status,
        checks=judgement.checks,
        lag_seconds=round(state.seen.cluster_time_seconds - execution.time_seconds, 6),
        reason=judgement.reason,
        text=judgement.text,
    )
    await context.publish(verification, (execution.execution_id, state.seen.id))
    return True
