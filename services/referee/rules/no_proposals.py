"""Step 0: nobody proposed, so the referee itself says noop."""

from __future__ import annotations

from schemas.decision import RefereeRule
from schemas.reasons import Reason
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose nobody when there is nobody."""
    return None if candidates else Choice(None, Reason.NO_PROPOSALS)


RULE = Rule(RefereeRule.NO_PROPOSALS, "no proposals", choose)
