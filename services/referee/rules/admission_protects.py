"""Step 3: agent C's protection wins over efficiency.

Protection is resource_cap, or admission queue, reject or deprioritize.
"""

from __future__ import annotations

from schemas.actions import ActionKind, Agent
from schemas.decision import RefereeRule
from services.referee.candidate import Candidate, highest_score
from services.referee.rule import Candidates, Choice, Rule

PROTECTIVE = ("queue", "reject", "deprioritize")


def choose(candidates: Candidates) -> Choice | None:
    """Choose agent C's protective action."""
    found = highest_score(one for one in candidates if _protects(one))
    return None if found is None else Choice(found)


def _protects(one: Candidate) -> bool:
    if one.considered.agent is not Agent.ADMISSION:
        return False
    capped = one.considered.kind is ActionKind.RESOURCE_CAP
    return capped or one.action.parameters.admission in PROTECTIVE


RULE = Rule(RefereeRule.ADMISSION_PROTECTS, "admission protection preempts efficiency", choose)
