"""Every handler of the log goes on over an event that fits its schema and makes no sense."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bus.port import StoredMessage
from bus.recording import open_recording
from foresail.settings import resolve
from foresail.stack.in_process import AGENTS
from foresail.stack.virtual import run_virtual_stack
from schemas.registry import UnknownEvent, decode, to_json
from services.agents.service import build as build_agent
from services.agents.settings import AgentSettings
from services.dashboard.arrival import arrival_of
from services.dashboard.cycle_json import cycle_json
from services.dashboard.page import Page
from services.dashboard.page import evolve as evolve_page
from services.dashboard.sections import row_json, sections_of
from services.executor.ledger.handler import ExecutorHandler
from services.exerciser.service import ExerciserHandler
from services.inference.service import build as build_inference
from services.inference.settings import InferenceSettings
from services.referee.service import build as build_referee
from services.referee.settings import RefereeSettings
from services.scoreboard.service import build as build_scoreboard
from services.scoreboard.settings import ScoreboardSettings
from tests.builders import ORIGIN
from tests.fuzz.mutation import FUZZ, dump_json, mutations

HANDLERS: Mapping[str, Callable[[], Any]] = {
    **{
        name: lambda agent=agent: build_agent(AgentSettings(), ORIGIN, agent)
        for name, agent in AGENTS.items()
    },
    "inference": lambda: build_inference(InferenceSettings(), ORIGIN),
    "inference-trained": lambda: build_inference(InferenceSettings(model="small-risk"), ORIGIN),
    "referee": lambda: build_referee(RefereeSettings(), ORIGIN),
    "scoreboard": lambda: build_scoreboard(ScoreboardSettings(), ORIGIN),
    "executor": ExecutorHandler,
    "exerciser": ExerciserHandler,
}
AFTER = 60
"""Sound events applied after the broken one."""


@cache
def messages() -> list[StoredMessage]:
    """Return a short run's log."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "run.fslog"
        flags = {"virtual_time": True, "for_seconds": 70.0, "nodes": 5, "record": str(path)}
        given_flags = {f"run.{name}": value for name, value in flags.items()}
        run_virtual_stack(resolve(None, {}, {**given_flags, "run.exercise": True}), quiet=True)
        return list(open_recording(path))


def change_message(data: st.DataObject, message: StoredMessage) -> StoredMessage:
    """Return a message whose data differs in one to three places."""
    content = dump_json(data.draw(mutations(json.loads(message.data))))
    return StoredMessage(message.seq, message.time_ns, message.subject, message.headers, content)


def event_of(message: StoredMessage) -> Any:
    """Return the event; None when it is refused in the documented way."""
    try:
        return decode(message.subject, message.headers, message.data, seq=message.seq)
    except UnknownEvent:
        return None


@pytest.mark.parametrize("name", HANDLERS)
@FUZZ
@given(st.data())
def test_a_handler_goes_on_over_a_strange_event(name: str, data: st.DataObject) -> None:
    """State after state, decision after decision; nothing that passes the schema raises."""
    handler = HANDLERS[name]()
    stream = messages()
    at = data.draw(st.integers(0, len(stream) - 1))
    start = max(0, at - AFTER)
    broken = change_message(data, stream[at])
    state = handler.initial()
    for message in (*stream[start:at], broken, *stream[at : at + AFTER]):
        event = event_of(message)
        if event is not None:
            state = handler.evolve(state, event)
    for overdue in (False, True):
        for new_event in handler.decide(state, overdue=overdue):
            to_json(new_event.data.model_dump(mode="json"))
    handler.open_cycle(state)


@FUZZ
@given(st.data())
def test_the_page_goes_on_over_a_strange_event(data: st.DataObject) -> None:
    """Every section, row and cycle can be written as JSON, whatever arrived."""
    stream = messages()
    at = data.draw(st.integers(0, len(stream) - 1))
    page = Page()
    for message in (
        *stream[max(0, at - AFTER) : at],
        change_message(data, stream[at]),
        *stream[at : at + 20],
    ):
        page = evolve_page(page, arrival_of(message))
    to_json(sections_of(page, ORIGIN))
    to_json([row_json(row) for row in page.rows])
    for record in page.overview.cycles.by_cycle.values():
        to_json(cycle_json(record))
