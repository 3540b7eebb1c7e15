"""Step 5: whatever is wanted and was not yet judged goes by the fixed order A, C, B.

Within one agent the higher score is taken.

Noops do not take part: all_noop came before, and a noop of agent A must not beat an admit of agent
C.
"""

from __future__ import annotations

from schemas.decision import RefereeRule
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose the first proposal in canonical order that wants something."""
    found = next((one for one in candidates if one.wants), None)
    return None if found is None else Choice(found)


RULE = Rule(RefereeRule.FIXED_ORDER, "deterministic referee priority A, C, B", choose)
