"""Step 4b, ours: an agent that must see (A) could not judge, and only a plain admit is left: do
nothing.

The decision names its reason.

An admit holds nothing back and so protects nothing. Letting it stand as the decision of a cycle in
which nobody could look at the risk would hide the blindness behind a confident action. Protective
actions of C and efficiency actions were tried before.
"""

from __future__ import annotations

from schemas.decision import RefereeRule
from services.referee.open_proposal import OpenProposal
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose nobody when such an agent is blind and nobody wants more than to admit."""
    blind = next(
        (candidate for candidate in candidates if candidate.blind and _must_see(candidate)), None
    )
    if blind is None or not all(candidate.admits for candidate in candidates if candidate.wants):
        return None
    return Choice(None, blind.considered.reason)


def _must_see(candidate: OpenProposal) -> bool:
    return candidate.agent is not None and candidate.agent.must_see


RULE = Rule(
    RefereeRule.SAFETY_BLIND, "safety could not judge and only a plain admit is left", choose
)
