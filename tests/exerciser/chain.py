"""The decision that the pure services reach on a cluster in a given state, without bus or clock."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from schemas import subjects
from schemas.agents import agent_names
from schemas.decision import Decision
from schemas.envelope import Event
from services.agents.service import build as build_agent
from services.agents.settings import AgentSettings
from services.inference.service import build as build_inference
from services.inference.settings import InferenceSettings
from services.referee.service import build as build_referee
from services.referee.settings import RefereeSettings
from tests.builders import ORIGIN, make_observation, stamp_event


def decision_on(nodes: Mapping[str, Mapping[str, Any]], **totals: int) -> Decision:
    """Return what is decided on nodes (cells by name) and totals."""
    events = [stamp_event(make_observation(nodes, totals=totals))]
    handlers: list[Any] = [
        build_inference(InferenceSettings(), ORIGIN),
        *(
            build_agent(AgentSettings(profile="baseline-rules"), ORIGIN, agent)
            for agent in agent_names()
        ),
        build_referee(RefereeSettings(), ORIGIN),
    ]
    for handler in handlers:
        events.extend(_publish_owed(handler, events))
    decision = events[-1].data
    assert isinstance(decision, Decision)
    return decision


def _publish_owed(handler: Any, events: list[Event[Any]]) -> list[Event[Any]]:
    patterns = [subjects.pattern(ORIGIN.cluster, tokens) for tokens in handler.reads]
    state = handler.initial()
    for event in events:
        if any(subjects.matches(pattern, event.subject) for pattern in patterns):
            state = handler.evolve(state, event)
    new_events = handler.decide(state, overdue=False)
    return [
        stamp_event(new_event.data, causes=new_event.causes, producer=handler.name)
        for new_event in new_events
    ]
