"""The one score scale: what a situation after an action is worth, agent by agent and in all.

Each agent's code says what it is rewarded for. The same functions pay for the observed and
for the predicted situation, so the two totals can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from schemas.actions import Action, AgentName
from schemas.agents import ORIGINAL
from schemas.numbers import rounded
from schemas.outcome import AgentRewards, RewardPart
from services.agent_rewards import RewardInput, reward_terms_of

SCALE = "seed-rewards/1"
"""Name and version of the original agents' terms; other terms get another version."""

Weights = Mapping[AgentName, float]
"""Weight of each rewarded agent's reward in the total, in the order of the letters."""


def scale_of(weights: Weights) -> str:
    """Return the scale's name: two totals can be compared when the same agents are in them."""
    others = sorted(set(weights).symmetric_difference(ORIGINAL))
    marks = (f"{'+' if name in weights else '-'}{name}" for name in others)
    return SCALE + "".join(marks)


def reward_parts(
    action: Action, after: RewardInput, max_risk_ratio: float | None, agents: Iterable[AgentName]
) -> tuple[RewardPart, ...]:
    """Return every term that applies, agent by agent.

    Args:
        action: what was decided.
        after: the situation after it.
        max_risk_ratio: highest risk predicted in the decision's cycle; None when there was no
            prediction, and then no term that needs it applies.
        agents: who is rewarded.
    """
    return tuple(
        RewardPart(agent=name, term=term.name, amount=term.amount, text=term.text)
        for name in agents
        for term in reward_terms_of(name)(action, after, max_risk_ratio)
    )


def agent_rewards(parts: Sequence[RewardPart], weights: Weights) -> AgentRewards:
    """Add the terms up by agent, and weigh them."""
    by_agent = {
        name: rounded(math.fsum(part.amount for part in parts if part.agent == name))
        for name in weights
    }
    total = math.fsum(weight * by_agent[name] for name, weight in weights.items())
    return AgentRewards(by_agent=by_agent, total=total)
