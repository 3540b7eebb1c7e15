"""Reward of a decision for the safety agent; the terms are the baseline simulator's."""

from __future__ import annotations

import math
from collections.abc import Iterator

from schemas.actions import Action, ActionKind
from services.agent_rewards import BASE, RewardInput, RewardTerm

BONUSES = {
    ActionKind.MIGRATE: (0.70, 10.0),
    ActionKind.REPLICATE: (0.83, 8.0),
    ActionKind.THROTTLE: (0.50, 3.0),
}
"""Least risk that makes a safety action valid, and what it then earns."""
NEEDLESS_MIGRATION_RISK = 0.40
NEEDLESS_MIGRATION = -20.0
DEAD_TASK = -100.0


def reward_terms(action: Action, after: RewardInput, risk: float | None) -> Iterator[RewardTerm]:
    """Yield the terms that apply; those that need a risk only where one was predicted."""
    yield BASE
    kind = action.kind
    least, bonus = BONUSES.get(kind, (math.inf, 0.0))
    valid = risk is not None and risk >= least
    if valid:
        yield RewardTerm(f"{kind}_at_risk", bonus, f"risk {risk:.6g} >= {least:.6g}")
    if kind is ActionKind.MIGRATE and risk is not None and risk < NEEDLESS_MIGRATION_RISK:
        text = f"risk {risk:.6g} < {NEEDLESS_MIGRATION_RISK:.6g}"
        yield RewardTerm("needless_migration", NEEDLESS_MIGRATION, text)
    if after.dead_tasks > 0:
        yield RewardTerm("dead_task", DEAD_TASK, f"{after.dead_tasks} tasks dead")
    violations = after.sla_violations
    if violations > 0:
        text = f"{violations} SLA violations"
        yield RewardTerm("sla_penalty", -min(35.0, 5.0 + 5.0 * math.log(1 + violations)), text)
        if valid:
            yield RewardTerm(
                "recovery_credit", min(16.0, 4.0 + 0.1 * violations), f"{kind} at {text}"
            )
