"""Step 2: an agent with an action that preempts wins over everything.

Of the agents of the baseline that is A with migrate, replicate or throttle.
"""

from __future__ import annotations

from schemas.decision import RefereeRule
from services.referee.open_proposal import highest_score
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose the preempting action with the highest score."""
    winner = highest_score(candidate for candidate in candidates if candidate.preempts)
    return None if winner is None else Choice(winner)


RULE = Rule(RefereeRule.SAFETY_FIRST, "safety preempts lower priority", choose)
