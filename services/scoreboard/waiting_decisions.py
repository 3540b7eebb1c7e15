"""Decisions that wait for the observation that pays them, and the reward that it pays."""

from __future__ import annotations

from schemas.actions import Action, AgentName
from schemas.model import DataModel
from schemas.numbers import Cycle, Ratio, rounded
from schemas.outcome import OutcomeReward, RewardPart
from schemas.reasons import Reason
from schemas.view import ObservationView
from services.agent_rewards import RewardInput
from services.scoreboard.rewards import Weights, agent_rewards, reward_parts, scale_of


class JudgedCycle(DataModel):
    """A cycle as it was judged, until its decision is known."""

    cycle: Cycle
    observation_id: str
    situation: RewardInput
    max_risk_ratio: Ratio | None = None
    """Highest risk predicted for it; None as long as there is no prediction."""


class PendingDecision(DataModel):
    """A decision that waits for the observation after it."""

    cycle: Cycle
    decision_id: str
    observation_id: str
    """The observation that was judged."""
    action: Action
    selected_agent: AgentName | None
    max_risk_ratio: Ratio | None
    predicted: RewardInput


def reward_of(
    pending: PendingDecision,
    view: ObservationView,
    situation: RewardInput | None,
    weights: Weights,
    sums: tuple[float, int],
) -> tuple[OutcomeReward, float]:
    """Return what a decision was worth, and the sum of the observed totals with it.

    Args:
        pending: the decision.
        view: the observation that pays it.
        situation: what that observation shows; None when it came too late to show an effect.
        weights: of each agent's reward.
        sums: the observed totals so far, and how many they are.
    """

    def parts_of(after: RewardInput) -> tuple[RewardPart, ...]:
        return reward_parts(pending.action, after, pending.max_risk_ratio, weights)

    predicted_parts = parts_of(pending.predicted)
    parts = () if situation is None else parts_of(situation)
    observed = None if situation is None else agent_rewards(parts, weights)
    count = sums[1] + (observed is not None)
    total = rounded(sums[0] + (0.0 if observed is None else observed.total))
    reward = OutcomeReward(
        cycle=pending.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        decision_id=pending.decision_id,
        observed_cycle=None if situation is None else view.cycle,
        action_kind=pending.action.kind,
        selected_agent=pending.selected_agent,
        scale=scale_of(weights),
        weights=dict(weights),
        observed=observed,
        predicted=agent_rewards(predicted_parts, weights),
        observed_parts=parts,
        predicted_parts=predicted_parts,
        mean_total=total / count if count else 0.0,
        scored=count,
        reason=Reason.NOT_OBSERVED if situation is None else None,
    )
    return reward, total
