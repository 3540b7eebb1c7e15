"""Step 4: of the efficiency actions the highest score wins.

These are power_state sleep, off or on, dvfs and memory_balloon.
"""

from __future__ import annotations

from schemas.actions import ActionKind
from schemas.decision import RefereeRule
from services.referee.candidate import Candidate, highest_score
from services.referee.rule import Candidates, Choice, Rule

POWER_STATES = ("sleep", "off", "on")


def choose(candidates: Candidates) -> Choice | None:
    """Choose the efficiency action with the highest score, whoever proposed it."""
    winner = highest_score(candidate for candidate in candidates if _saves(candidate))
    return None if winner is None else Choice(winner)


def _saves(candidate: Candidate) -> bool:
    if candidate.considered.kind is ActionKind.POWER_STATE:
        return candidate.action.parameters.power_state in POWER_STATES
    return candidate.considered.kind in (ActionKind.DVFS, ActionKind.MEMORY_BALLOON)


RULE = Rule(RefereeRule.EFFICIENCY_BY_SCORE, "efficiency action with the highest score", choose)
