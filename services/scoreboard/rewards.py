"""The one score scale, `seed-rewards/1`: what a situation after an action is worth to each agent.

The terms are those of the seed's simulator (seed-systems 1.b.10). The same function pays for the
observed and for the predicted situation, so the two totals can be compared.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from schemas.actions import Action, ActionKind, Agent
from schemas.model import DataModel
from schemas.numbers import Count, Ratio, Rounded, rounded
from schemas.outcome import AgentRewards, RewardPart

SCALE = "seed-rewards/1"
"""Name and version of the terms below; other terms get another version."""

BASE = 1.0
SAFETY_BONUSES = {
    ActionKind.MIGRATE: (0.70, 10.0),
    ActionKind.REPLICATE: (0.83, 8.0),
    ActionKind.THROTTLE: (0.50, 3.0),
}
"""Least risk that makes a safety action valid, and what it then earns."""
NEEDLESS_MIGRATION_RISK = 0.40
NEEDLESS_MIGRATION = -20.0
DEAD_TASK = -100.0
EFFICIENCY_KINDS = (ActionKind.POWER_STATE, ActionKind.DVFS, ActionKind.MEMORY_BALLOON)
LOW_DEMAND, LOW_DEMAND_BONUS = 0.35, 5.0
HIGH_DEMAND, HIGH_DEMAND_PENALTY = 0.75, -30.0
ENERGY_GOAL_WATTS, WATTS_PER_POINT = 500.0, 100.0
BUSY_QUEUE, FULL_QUEUE, IDLE_QUEUE = 80, 120, 60
COMPLETED_PER_POINT, COMPLETED_LIMIT = 10, 10.0


class Situation(DataModel):
    """What the terms read of an observation, seen or predicted."""

    queue_length: Count
    sla_violations: Count
    completed_tasks: Count
    dead_tasks: Count
    """Pods that have Failed."""
    max_demand_ratio: Ratio | None
    """Highest requested demand of a node (0.55 CPU + 0.35 memory); None without nodes."""
    energy_watts: Rounded


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights of the agents' rewards in the total."""

    alpha: float
    beta: float
    gamma: float


def reward_parts(
    action: Action, after: Situation, max_risk_ratio: float | None
) -> tuple[RewardPart, ...]:
    """Return every term that applies, agent by agent.

    Args:
        action: what was decided.
        after: the situation after it.
        max_risk_ratio: highest risk predicted in the decision's cycle; None when there was no
            prediction, and then no term that needs it applies.
    """
    return (
        *_safety(action.kind, after, max_risk_ratio),
        *_efficiency(action.kind, after),
        *_admission(action, after),
    )


def agent_rewards(parts: Sequence[RewardPart], weights: Weights) -> AgentRewards:
    """Add the terms up by agent, and weigh them."""
    sums = {
        agent: rounded(math.fsum(part.amount for part in parts if part.agent is agent))
        for agent in Agent
    }
    weighted = (
        weights.alpha * sums[Agent.SAFETY],
        weights.beta * sums[Agent.EFFICIENCY],
        weights.gamma * sums[Agent.ADMISSION],
    )
    return AgentRewards(
        safety=sums[Agent.SAFETY],
        efficiency=sums[Agent.EFFICIENCY],
        admission=sums[Agent.ADMISSION],
        total=math.fsum(weighted),
    )


def _safety(kind: ActionKind, after: Situation, risk: float | None) -> Iterator[RewardPart]:
    def part(term: str, amount: float, text: str) -> RewardPart:
        return RewardPart(agent=Agent.SAFETY, term=term, amount=amount, text=text)

    yield part("base", BASE, "every step")
    least, bonus = SAFETY_BONUSES.get(kind, (math.inf, 0.0))
    valid = risk is not None and risk >= least
    if valid:
        yield part(f"{kind}_at_risk", bonus, f"risk {risk:.6g} >= {least:.6g}")
    if kind is ActionKind.MIGRATE and risk is not None and risk < NEEDLESS_MIGRATION_RISK:
        text = f"risk {risk:.6g} < {NEEDLESS_MIGRATION_RISK:.6g}"
        yield part("needless_migration", NEEDLESS_MIGRATION, text)
    if after.dead_tasks > 0:
        yield part("dead_task", DEAD_TASK, f"{after.dead_tasks} tasks dead")
    violations = after.sla_violations
    if violations > 0:
        text = f"{violations} SLA violations"
        yield part("sla_penalty", -min(35.0, 5.0 + 5.0 * math.log(1 + violations)), text)
        if valid:
            yield part("recovery_credit", min(16.0, 4.0 + 0.1 * violations), f"{kind} at {text}")


def _efficiency(kind: ActionKind, after: Situation) -> Iterator[RewardPart]:
    def part(term: str, amount: float, text: str) -> RewardPart:
        return RewardPart(agent=Agent.EFFICIENCY, term=term, amount=amount, text=text)

    yield part("base", BASE, "every step")
    demand = after.max_demand_ratio
    if kind in EFFICIENCY_KINDS and demand is not None:
        if demand < LOW_DEMAND:
            text = f"demand {demand:.6g} < {LOW_DEMAND:.6g}"
            yield part("efficiency_low_demand", LOW_DEMAND_BONUS, text)
        elif demand > HIGH_DEMAND:
            text = f"demand {demand:.6g} > {HIGH_DEMAND:.6g}"
            yield part("efficiency_high_demand", HIGH_DEMAND_PENALTY, text)
    saved = max(0.0, (ENERGY_GOAL_WATTS - after.energy_watts) / WATTS_PER_POINT)
    if saved > 0:
        yield part("energy", saved, f"{after.energy_watts:.6g} W < {ENERGY_GOAL_WATTS:.6g} W")


def _admission(action: Action, after: Situation) -> Iterator[RewardPart]:
    def part(term: str, amount: float, text: str) -> RewardPart:
        return RewardPart(agent=Agent.ADMISSION, term=term, amount=amount, text=text)

    yield part("base", BASE, "every step")
    queue = after.queue_length
    shown = f"queue {queue}"
    busy = queue >= BUSY_QUEUE
    word = action.parameters.admission if action.kind is ActionKind.ADMISSION else None
    if word == "admit" and not busy:
        yield part("admit_short_queue", 5.0, f"{shown} < {BUSY_QUEUE}")
    if word == "admit" and queue > FULL_QUEUE:
        yield part("admit_full_queue", -50.0, f"{shown} > {FULL_QUEUE}")
    if word == "deprioritize" and busy:
        yield part("deprioritize_long_queue", 3.0, f"{shown} >= {BUSY_QUEUE}")
    if word == "reject" and queue < IDLE_QUEUE:
        yield part("reject_short_queue", -20.0, f"{shown} < {IDLE_QUEUE}")
    if action.kind is ActionKind.RESOURCE_CAP and busy:
        yield part("cap_long_queue", 4.0, f"{shown} >= {BUSY_QUEUE}")
    completed = min(COMPLETED_LIMIT, after.completed_tasks / COMPLETED_PER_POINT)
    if completed > 0:
        yield part("completed", completed, f"{after.completed_tasks} tasks completed")
