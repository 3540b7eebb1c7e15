"""Step 2: agent A with migrate, replicate or throttle wins over everything."""

from __future__ import annotations

from schemas.actions import ActionKind, Agent
from schemas.decision import RefereeRule
from services.referee.candidate import highest_score
from services.referee.rule import Candidates, Choice, Rule

KINDS = (ActionKind.MIGRATE, ActionKind.REPLICATE, ActionKind.THROTTLE)


def choose(candidates: Candidates) -> Choice | None:
    """Choose agent A's protective action."""
    found = highest_score(
        one
        for one in candidates
        if one.considered.agent is Agent.SAFETY and one.considered.kind in KINDS
    )
    return None if found is None else Choice(found)


RULE = Rule(RefereeRule.SAFETY_FIRST, "safety preempts lower priority", choose)
