"""Reward of a decision for the admission agent; the terms are the baseline simulator's."""

from __future__ import annotations

from collections.abc import Iterator

from schemas.actions import Action, AdmissionAction, ResourceCapAction
from services.agent_rewards import BASE, RewardInput, RewardTerm

BUSY_QUEUE, FULL_QUEUE, IDLE_QUEUE = 80, 120, 60
COMPLETED_PER_POINT, COMPLETED_LIMIT = 10, 10.0


def reward_terms(action: Action, after: RewardInput, risk: float | None) -> Iterator[RewardTerm]:
    """Yield the terms that apply; `risk` is not read."""
    del risk
    yield BASE
    queue = after.queue_length
    numbers = f"queue {queue}"
    busy = queue >= BUSY_QUEUE
    word = action.admission if isinstance(action, AdmissionAction) else None
    if word == "admit" and not busy:
        yield RewardTerm("admit_short_queue", 5.0, f"{numbers} < {BUSY_QUEUE}")
    if word == "admit" and queue > FULL_QUEUE:
        yield RewardTerm("admit_full_queue", -50.0, f"{numbers} > {FULL_QUEUE}")
    if word == "deprioritize" and busy:
        yield RewardTerm("deprioritize_long_queue", 3.0, f"{numbers} >= {BUSY_QUEUE}")
    if word == "reject" and queue < IDLE_QUEUE:
        yield RewardTerm("reject_short_queue", -20.0, f"{numbers} < {IDLE_QUEUE}")
    if isinstance(action, ResourceCapAction) and busy:
        yield RewardTerm("cap_long_queue", 4.0, f"{numbers} >= {BUSY_QUEUE}")
    completed = min(COMPLETED_LIMIT, after.completed_tasks / COMPLETED_PER_POINT)
    if completed > 0:
        yield RewardTerm("completed", completed, f"{after.completed_tasks} tasks completed")
