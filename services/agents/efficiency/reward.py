"""Reward of a decision for the efficiency agent; the terms are the baseline simulator's."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.actions import Action, ActionKind
from services.agent_rewards import BASE, RewardInput, RewardTerm

KINDS = (ActionKind.POWER_STATE, ActionKind.DVFS, ActionKind.MEMORY_BALLOON)
LOW_DEMAND, LOW_DEMAND_BONUS = 0.35, 5.0
HIGH_DEMAND, HIGH_DEMAND_PENALTY = 0.75, -30.0
ENERGY_GOAL_WATTS, WATTS_PER_POINT = 500.0, 100.0


def reward_terms(action: Action, after: RewardInput, risk: float | None) -> Iterator[RewardTerm]:
    """Yield the terms that apply; `risk` is not read."""
    del risk
    yield BASE
    demand = after.max_demand_ratio
    if action.kind in KINDS and demand is not None:
        if demand < LOW_DEMAND:
            text = f"demand {demand:.6g} < {LOW_DEMAND:.6g}"
            yield RewardTerm("efficiency_low_demand", LOW_DEMAND_BONUS, text)
        elif demand > HIGH_DEMAND:
            text = f"demand {demand:.6g} > {HIGH_DEMAND:.6g}"
            yield RewardTerm("efficiency_high_demand", HIGH_DEMAND_PENALTY, text)
    saved = max(0.0, (ENERGY_GOAL_WATTS - after.energy_watts) / WATTS_PER_POINT)
    if saved > 0:
        yield RewardTerm("energy", saved, f"{after.energy_watts:.6g} W < {ENERGY_GOAL_WATTS:.6g} W")
