"""The decision that the pure services reach on a cluster in a given state, without bus or clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import subjects
from schemas.actions import Agent
from schemas.decision import Decision
from schemas.envelope import Event
from services.agents.service import build as agent_fold
from services.agents.settings import AgentSettings
from services.inference.service import build as inference_fold
from services.inference.settings import InferenceSettings
from services.referee.service import build as referee_fold
from services.referee.settings import RefereeSettings
from tests.builders import ORIGIN, make_observation, stamped


def decision_on(nodes: Mapping[str, Mapping[str, Any]], **totals: int) -> Decision:
    """Return what is decided on nodes (cells by name) and totals."""
    events = [stamped(make_observation(nodes, totals=totals))]
    folds: list[Any] = [
        inference_fold(InferenceSettings(), ORIGIN),
        *(agent_fold(AgentSettings(), ORIGIN, agent) for agent in Agent),
        referee_fold(RefereeSettings(), ORIGIN),
    ]
    for fold in folds:
        events.extend(_said(fold, events))
    decision = events[-1].data
    assert isinstance(decision, Decision)
    return decision


def _said(fold: Any, events: list[Event[Any]]) -> list[Event[Any]]:
    patterns = [subjects.pattern(ORIGIN.cluster, tokens) for tokens in fold.reads]
    state = fold.initial()
    for event in events:
        if any(subjects.matches(pattern, event.subject) for pattern in patterns):
            state = fold.evolve(state, event)
    drafts = fold.decide(state, overdue=False)
    return [stamped(draft.data, causes=draft.causes, producer=fold.name) for draft in drafts]
