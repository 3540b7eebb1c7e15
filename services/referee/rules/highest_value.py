"""Where proposals state what they are expected to change: what gains most for an hour wins.

So does every further wish that touches nothing in common with a better one, since each gains by its own estimate. All
amounts are in the outcome score's money, so agents are weighed in one unit. While an agent that must see (A) could
not judge, nothing is taken that only saves: what it would cost is not known.
"""

from __future__ import annotations

from schemas.actions import DvfsAction, MemoryBalloonAction, MigrateAction, PowerStateAction
from schemas.decision import RefereeRule
from schemas.proposal import FurtherAction
from services.referee.open_proposal import OpenProposal, canonical
from services.referee.rule import Candidates, Choice, Rule


def choose(candidates: Candidates) -> Choice | None:
    """Choose the greatest gain for an hour; None where no proposal states one."""
    stated = [
        wanted
        for candidate in candidates
        if candidate.considered.effect is not None
        for wanted in (candidate, *(_wished(candidate, wish) for wish in candidate.further))
    ]
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
    best, *others = sorted(canonical(stated), key=_gain_per_hour, reverse=True)
    return Choice(best, more=tuple(others))


def _wished(candidate: OpenProposal, wish: FurtherAction) -> OpenProposal:
    """Return a further wish as a candidate of the same proposal."""
    considered = candidate.considered.model_copy(
        update={
            "kind": wish.action.kind,
            "target": wish.action.target,
            "score": wish.score,
            "rule": wish.rule,
            "text": wish.text,
            "evidence": wish.evidence,
            "effect": wish.effect,
        }
    )
    return OpenProposal(considered=considered, action=wish.action, profile=candidate.profile)


def _gain_per_hour(candidate: OpenProposal) -> float:
    effect = candidate.considered.effect
    return 0.0 if effect is None else effect.per_hour


def _must_see(candidate: OpenProposal) -> bool:
    return candidate.agent is not None and candidate.agent.must_see


def _only_saves(candidate: OpenProposal) -> bool:
    action = candidate.action
    if isinstance(action, PowerStateAction):
        return action.power_state != "on"
    if isinstance(action, MigrateAction):  # to let a machine sleep, or go
        effect = candidate.considered.effect
        saves = effect is not None and effect.terms.get("energy", 0.0) > 0.0
        return saves or action.pods == ()
    return isinstance(action, DvfsAction | MemoryBalloonAction)


RULE = Rule(RefereeRule.HIGHEST_VALUE, "it is expected to gain most for an hour", choose)
