"""Where proposals state what they are expected to change: the one that gains most for an hour wins.

All amounts are in the outcome score's money, so agents are weighed in one unit. While an agent that must see (A) could
not judge, nothing is taken that only saves: what it would cost is not known.
"""

from __future__ import annotations

from schemas.actions import DvfsAction, MemoryBalloonAction, PowerStateAction
from schemas.decision import RefereeRule
from services.referee.candidate import Candidate, canonical
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose the greatest gain for an hour; None where no proposal states one."""
    stated = [candidate for candidate in candidates if candidate.considered.effect is not None]
    if not stated:
        return None
    blind = next(
        (candidate for candidate in candidates if candidate.blind and _must_see(candidate)), None
    )
    if blind is not None:
        stated = [candidate for candidate in stated if not _only_saves(candidate)]
        if not stated:
            return Choice(
                None, blind.considered.reason, "safety could not judge, and saving waits for it"
            )
    return Choice(max(canonical(stated), key=_gain_per_hour))


def _gain_per_hour(candidate: Candidate) -> float:
    effect = candidate.considered.effect
    return 0.0 if effect is None else effect.per_hour


def _must_see(candidate: Candidate) -> bool:
    return candidate.agent is not None and candidate.agent.must_see


def _only_saves(candidate: Candidate) -> bool:
    action = candidate.action
    if isinstance(action, PowerStateAction):
        return action.power_state != "on"
    return isinstance(action, DvfsAction | MemoryBalloonAction)


RULE = Rule(RefereeRule.HIGHEST_VALUE, "it is expected to gain most for an hour", choose)
