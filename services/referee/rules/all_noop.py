"""Step 1: everybody wants nothing; the noop of the first agent in the order A, C, B stands.

The decision's reason says whether somebody could not look: the first such reason in that order,
else `all_noop`.
"""

from __future__ import annotations

from schemas.decision import RefereeRule
from schemas.reasons import Reason
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose the first noop when nothing else is there."""
    if any(candidate.wants for candidate in candidates):
        return None
    blind = (candidate.considered.reason for candidate in candidates if candidate.blind)
    return Choice(candidates[0], next(blind, None) or Reason.ALL_NOOP)


RULE = Rule(RefereeRule.ALL_NOOP, "all agents proposed noop", choose)
