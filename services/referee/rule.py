"""The shape of a referee rule.

A rule goes from all candidates to a choice, or to None when it does not apply.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from schemas.decision import RefereeRule
from schemas.reasons import Reason
from services.referee.open_proposal import OpenProposal

Candidates = tuple[OpenProposal, ...]
"""In canonical order."""


@dataclass(frozen=True, slots=True)
class Choice:
    """Choice of a rule."""

    winner: OpenProposal | None
    """None: nobody; the referee itself says noop."""
    reason: Reason | None = None
    """Why nothing is done; None when something is."""
    text: str = ""
    """Why it was chosen, where the rule's own text does not say it all."""
    more: tuple[OpenProposal, ...] = ()
    """Who else may win, best first; whoever touches what an earlier winner touches, or wants nothing, does not."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the referee."""

    name: RefereeRule
    text: str
    """Why it chooses as it does, as the end of a sentence."""
    choose: Callable[[Candidates], Choice | None]
