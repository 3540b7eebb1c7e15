"""Step 3: an action that protects wins over efficiency.

Of the agents of the baseline that is C with resource_cap, or admission queue, reject or deprioritize.
"""

from __future__ import annotations

from schemas.decision import RefereeRule
from services.referee.open_proposal import highest_score
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose the protecting action with the highest score."""
    winner = highest_score(candidate for candidate in candidates if candidate.protects)
    return None if winner is None else Choice(winner)


RULE = Rule(RefereeRule.ADMISSION_PROTECTS, "admission protection preempts efficiency", choose)
