"""Template of a rule.

Copy it, add its name to `schemas.decision.RefereeRule`, and put it into `RULES` where it belongs.

This one would let a proposal with a perfect score win over everything. It is not in `RULES`; a test
keeps it working.
"""

from __future__ import annotations

from schemas.decision import RefereeRule
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Return the choice, or None when the rule does not apply.

    Candidates come in canonical order.
    """
    winner = next(
        (
            candidate
            for candidate in candidates
            if candidate.wants and candidate.considered.score >= 1.0
        ),
        None,
    )
    return None if winner is None else Choice(winner)


RULE = Rule(RefereeRule.FIXED_ORDER, "a perfect score wins", choose)
