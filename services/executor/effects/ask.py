"""Asking a person: the plan that passed every guard is published, and nothing of it is written."""

from __future__ import annotations

from schemas.approval import OutcomeApproval
from schemas.outcome import GuardCheck
from services.executor.effects.context import EffectContext
from services.executor.ledger import Ledger, PendingDecision
from services.executor.plans.planned import OperationPlan


async def ask_for_approval(
    context: EffectContext,
    state: Ledger,
    due: PendingDecision,
    now_seconds: float,
    planned: OperationPlan,
    checks: tuple[GuardCheck, ...],
) -> None:
    """Publish what would be written, and until when it may be approved.

    Its time begins with the newest observation, by which the end is judged, too.
    """
    since = max(state.seen.cluster_time_seconds, now_seconds)
    asked = OutcomeApproval(
        cycle=due.cycle,
        part=due.part,
        cluster_time_seconds=since,
        decision_id=due.decision_id,
        action=due.action,
        operations=planned.operations,
        expires_time_seconds=since + context.settings.approval_seconds,
        guards=checks,
        text=planned.text,
    )
    await context.publish(asked, (due.decision_id, due.observation_id))
    context.log.info("waits for approval", cycle=due.cycle, part=due.part, what=planned.text)
