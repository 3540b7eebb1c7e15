"""Reward of a decision for the example agent."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.actions import Action, ActionKind
from services.agent_rewards import BASE, RewardInput, RewardTerm


def reward_terms(action: Action, after: RewardInput, risk: float | None) -> Iterator[RewardTerm]:
    """Yield the terms that apply; `risk` is not read."""
    del risk
    yield BASE
    if after.dead_tasks == 0:
        yield RewardTerm("no_dead_task", 2.0, "no task dead")
    elif action.kind is ActionKind.NOOP:
        yield RewardTerm("idle_amid_deaths", -5.0, f"{after.dead_tasks} tasks dead, nothing done")
