"""What a decision is worth to the example agent."""

from __future__ import annotations

from collections.abc import Iterator

from agent_registry.reward import BASE, Situation, Term
from schemas.actions import Action, ActionKind


def reward_terms(action: Action, after: Situation, risk: float | None) -> Iterator[Term]:
    """Yield the terms that apply; `risk` is not read."""
    del risk
    yield BASE
    if after.dead_tasks == 0:
        yield Term("no_dead_task", 2.0, "no task dead")
    elif action.kind is ActionKind.NOOP:
        yield Term("idle_amid_deaths", -5.0, f"{after.dead_tasks} tasks dead, nothing done")
