"""The predecessor's rewards on AIOpsLab: what an action earned by the observation that it was decided on.

They differ from those of its simulator (`seed-rewards/1`): all valid safety actions earn the same, invalid ones
cost, efficiency is paid by the least demand, and the queue is counted otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from schemas.actions import Action, ActionKind, AdmissionAction, AgentName
from services.agent_rewards import RewardInput, RewardTerm, reward_terms_of

LEAST_RISK = {ActionKind.THROTTLE: 0.50, ActionKind.MIGRATE: 0.70, ActionKind.REPLICATE: 0.83}
EFFICIENCY = frozenset({ActionKind.POWER_STATE, ActionKind.DVFS, ActionKind.MEMORY_BALLOON})
LOW_DEMAND = 0.35
BUSY_QUEUE, IDLE_QUEUE = 80, 60
SHARED: Mapping[AgentName, frozenset[str]] = {
    "safety": frozenset({"base", "dead_task", "sla_penalty", "recovery_credit"}),
    "efficiency": frozenset({"base", "energy"}),
    "admission": frozenset({"base", "completed"}),
}
"""Terms that both scales have in common."""


def lab_rewards(
    actions: Sequence[Action],
    before: RewardInput,
    *,
    risk: float | None,
    min_demand: float | None,
) -> dict[AgentName, float]:
    """Return each agent's reward.

    Args:
        actions: what was decided; each pays the agent whose it is.
        before: the observation that it was decided on.
        risk: highest risk predicted then; None without a prediction.
        min_demand: lowest demand of a node then; None without nodes.
    """
    found: dict[AgentName, float] = {}
    for name, shared in SHARED.items():
        own = [action for action in actions if action.agent == name] or list(actions[:1])
        common = reward_terms_of(name)(own[0], before, risk)
        terms = [term for term in common if term.name in shared]
        for action in own:
            terms += _own_terms(name, action, before, risk, min_demand)
        found[name] = math.fsum(term.amount for term in terms)
    return found


def _own_terms(
    agent: AgentName, action: Action, before: RewardInput, risk: float | None, demand: float | None
) -> Iterator[RewardTerm]:
    kind, queue = action.kind, before.queue_length
    if action.agent != agent:
        return
    if agent == "safety" and kind in LEAST_RISK:
        valid = risk is not None and risk >= LEAST_RISK[kind]
        yield RewardTerm("safety_action", 10.0 if valid else -20.0, f"risk {risk}")
    elif agent == "efficiency" and kind in EFFICIENCY:
        low = demand is None or demand < LOW_DEMAND
        yield RewardTerm("efficiency_action", 5.0 if low else -30.0, f"least demand {demand}")
    elif agent == "admission" and kind is ActionKind.RESOURCE_CAP:
        yield RewardTerm("cap", 4.0 if queue >= BUSY_QUEUE else -5.0, f"queue {queue}")
    elif agent == "admission" and isinstance(action, AdmissionAction):
        yield RewardTerm(action.admission, _admission(action.admission, queue), f"queue {queue}")


def _admission(word: str, queue: int) -> float:
    if word == "admit":
        return 5.0 if queue < BUSY_QUEUE else -50.0
    if word == "reject" and queue < IDLE_QUEUE:
        return -20.0
    return 3.0 if word == "deprioritize" and queue >= BUSY_QUEUE else 0.0
