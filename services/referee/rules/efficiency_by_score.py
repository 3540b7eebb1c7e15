"""Step 4: of the efficiency actions the highest score wins.

These are power_state sleep, off or on, dvfs and memory_balloon.
"""

from __future__ import annotations

from schemas.actions import DvfsAction, MemoryBalloonAction, PowerStateAction
from schemas.decision import RefereeRule
from services.referee.open_proposal import OpenProposal, highest_score
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose the efficiency action with the highest score, whoever proposed it."""
    winner = highest_score(candidate for candidate in candidates if _saves(candidate))
    return None if winner is None else Choice(winner)


def _saves(candidate: OpenProposal) -> bool:
    return isinstance(candidate.action, PowerStateAction | DvfsAction | MemoryBalloonAction)


RULE = Rule(RefereeRule.EFFICIENCY_BY_SCORE, "efficiency action with the highest score", choose)
