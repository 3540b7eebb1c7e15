"""A day is drawn out of a log: what it holds is there, what it cannot know is left out and said."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bus.events import read_events
from foresail.__main__ import main
from foresail.day.day import NOT_OBSERVED, NOT_READY, Day
from foresail.day.pages import figures_of
from foresail.day.plots import draw_day
from foresail.day.recorded import READS, DayReader
from foresail.log_source import RecordingSource
from schemas.envelope import Event
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution
from tests.timeline.scripted import play_incident


def _events(path: Path) -> list[Event[Any]]:
    async def read() -> list[Event[Any]]:
        messages = RecordingSource(path).messages(READS)
        return [entry.event async for entry in read_events(messages) if entry.event is not None]

    return asyncio.run(read())


def _day(events: list[Event[Any]]) -> Day:
    reader = DayReader()
    for event in events:
        reader.add(event)
    day = reader.day()
    assert day is not None
    return day


@pytest.fixture(scope="module")
def events() -> list[Event[Any]]:
    """What the recording of the failing node holds."""
    return _events(play_incident("node-failure").recording)


def test_amounts_are_those_that_were_observed(events: list[Event[Any]]) -> None:
    """Capacity follows the nodes that are ready, use and pending pods are those of the observations."""
    day = _day(events)
    totals = [event.data.totals for event in events if isinstance(event.data, Observation)]

    assert [moment.capacity_cores for moment in (day.moments[0], day.moments[-1])] == [32.0, 32.0]
    assert min(moment.capacity_cores for moment in day.moments) == 24.0
    assert {sum(moment.machines.values()) for moment in day.moments} == {3, 4}
    assert max(moment.pending for moment in day.moments) == max(t.queue_length for t in totals[1:])
    ratio = sum(t.cpu_requested_ratio for t in totals[1:]) / len(totals[1:])
    mean = sum(moment.requested_cores for moment in day.moments) / len(day.moments)
    assert mean == pytest.approx(32.0 * ratio, rel=0.02)
    assert day.moments[-1].at_seconds == day.seconds


def test_failures_and_our_actions_have_lanes(events: list[Event[Any]]) -> None:
    """The node that died is a span, each action that was carried out is counted once."""
    day = _day(events)
    done = [
        event
        for event in events
        if isinstance(event.data, OutcomeExecution)
        and event.data.phase == "finished"
        and event.data.succeeded
    ]

    [span] = [span for span in day.spans if span.lane == NOT_READY]
    assert span.name == "rack-2"
    assert 300.0 < span.begin < span.end < 760.0
    assert day.count("action") == len(done) >= 3
    lanes = {text.get_text().partition(":")[0] for text in draw_day(day).axes[-1].texts}
    assert lanes >= {NOT_READY, "our actions"}


def test_what_a_log_cannot_know_is_left_out(events: list[Event[Any]]) -> None:
    """No panel of requests or prices, and no figure that would claim that nobody was evicted."""
    day = _day(events)
    titles = [axes.get_title("left") for axes in draw_day(day).axes[:-1]]

    assert titles == ["CPU, cores", "Pods without a node, pods", "Ready machines, nodes"]
    names = [name for name, _ in figures_of(day)]
    assert not {"evictions", "out-of-memory kills", "requests", "dollars for machines"} & {*names}
    assert "of the CPU used" in names
    assert "prices of machines" in day.missing


def test_a_time_without_observations_is_a_span(events: list[Event[Any]]) -> None:
    """Where cycles are missing the picture says so instead of drawing what it does not know."""
    day = _day([event for event in events if not 20 <= event.data.cycle < 30])
    [gap] = [span for span in day.spans if span.lane == NOT_OBSERVED]

    assert gap.end - gap.begin >= 110.0  # up to the next observation that holds everything
    assert not [span for span in _day(events).spans if span.lane == NOT_OBSERVED]


def test_the_command_draws_a_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In the terminal, as a page and as JSON; what is missing is said, and `--for` takes the end of it."""
    file, out = str(play_incident("node-failure").recording), tmp_path / "day.html"
    capsys.readouterr()
    assert main(["twin", "show", "--recording", file]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "not in a log: requests" in printed
    assert "rack-2" in printed
    assert main(["twin", "show", "--recording", file, "--out", str(out)]) == 0
    assert "our actions" in out.read_text(encoding="utf-8")
    capsys.readouterr()
    assert main(["twin", "show", "--recording", file, "--for", "5m", "--json"]) == 0
    assert 280.0 < json.loads(capsys.readouterr().out)["seconds"] <= 300.0


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (("--nodes", "3"), "--nodes = 3: leave it out: --recording draws what was"),
        (("--state", "."), "--state = .: leave it out: --recording draws what was"),
        (("--weather", "rough"), "--weather = rough: leave it out"),
        (("--for", "1s"), "give a log with at least two observations"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    flags: tuple[str, ...], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A recording is not played: what says how to play is refused, and so is a log of one moment."""
    file = str(play_incident("node-failure").recording)
    capsys.readouterr()
    assert main(["twin", "show", "--recording", file, *flags]) == 2
    assert expected in " ".join(capsys.readouterr().err.split())
