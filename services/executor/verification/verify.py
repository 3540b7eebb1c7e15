"""Verifying an execution: read its objects again and publish what became of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from schemas.outcome import OutcomeVerification
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.desired_state import DesiredState, end_shown
from services.executor.execution.context import SideEffectContext
from services.executor.ledger import Execution, Ledger
from services.executor.reading.objects import read_object
from services.executor.verification.affected import read_affected
from services.executor.verification.judging import counts_at_any_observation, judge_execution

KEPT_EXECUTIONS = 1_000
"""More than the executions that wait for their verification."""


class ReachedStates:
    """The ends of executions that were shown at any look, by the execution's id."""

    def __init__(self) -> None:
        """Begin without any look."""
        self._reached: OrderedDict[str, tuple[int, frozenset[int]]] = OrderedDict()

    def has_seen(self, execution_id: str, cycle: int) -> bool:
        """Say whether an execution was looked at after the observation of a cycle."""
        return self._reached.get(execution_id, (-1, frozenset()))[0] >= cycle

    def add(
        self, execution_id: str, cycle: int, ends: Sequence[DesiredState]
    ) -> tuple[DesiredState, ...]:
        """Note a look after the observation of a cycle; return the ends of all looks together."""
        _, reached = self._reached.pop(execution_id, (-1, frozenset[int]()))
        reached |= {number for number, end in enumerate(ends) if end is DesiredState.REACHED}
        self._reached[execution_id] = (cycle, reached)
        while len(self._reached) > KEPT_EXECUTIONS:
            self._reached.popitem(last=False)
        return tuple(
            DesiredState.REACHED if number in reached else end for number, end in enumerate(ends)
        )


async def verify(
    context: SideEffectContext, looks: ReachedStates, state: Ledger, execution: Execution
) -> bool:
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
    at_any_observation = looks.add(execution.execution_id, cycle, shown)
    ends = at_any_observation if counts_at_any_observation(execution) else tuple(shown)
    if cycle < execution.cycle + context.settings.verify_cycles:
        return False
    judgement = judge_execution(execution, ends, state, affected)
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
