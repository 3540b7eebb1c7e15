"""Step 5: whatever is wanted and was not yet judged goes by the fixed order of agents (A, C, B).

Within one agent the higher score is taken.

Noops do not take part: all_noop came before, and a noop of agent A must not beat an admit of agent
C.
"""

from __future__ import annotations

from schemas.agents import ORIGINAL, letter_of, referee_place
from schemas.decision import RefereeRule
from services.referee.rule import Candidates, Choice, Rule

TEXT = "deterministic referee priority"


def choose(candidates: Candidates) -> Choice | None:
    """Choose the first proposal in canonical order that wants something."""
    winner = next((candidate for candidate in candidates if candidate.wants), None)
    return None if winner is None else Choice(winner, text=_text(candidates))


def _text(candidates: Candidates) -> str:
    """Name the order: the original agents always, as recordings do, and who else proposed."""
    agents = {*ORIGINAL, *(candidate.considered.agent for candidate in candidates)}
    return f"{TEXT} {', '.join(letter_of(name) for name in sorted(agents, key=referee_place))}"


RULE = Rule(RefereeRule.FIXED_ORDER, TEXT, choose)
