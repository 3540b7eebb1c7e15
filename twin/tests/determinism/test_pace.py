"""How fast cluster time passes decides when things happen, never what."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from twin.api.clock_control import PATH, control_clock
from twin.api.messages import Request
from twin.engine import Engine
from twin.pace import Pace

Build = Callable[..., Engine]


class HandClock:
    """A monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 50.0

    def monotonic(self) -> float:
        """Return the time that was set."""
        return self.at

    def wall_ns(self) -> int:
        """Return nothing of use: no pace reads the date."""
        raise AssertionError

    async def sleep(self, seconds: float) -> None:
        """Move on."""
        self.at += seconds


def drive(engine: Engine, pace: Pace, clock: HandClock, wall_seconds: float) -> None:
    """Advance as the twin's process does; each advance takes a thousandth of its cluster time."""
    end = clock.at + wall_seconds
    while clock.at < end:
        before, until = engine.now, pace.until(engine.now)
        if until > before:
            pace.begin_advance()
            engine.advance(until)
            clock.at += (engine.now - before) / 1_000.0
            pace.end_advance(engine.now - before)
        clock.at += 0.0 if pace.behind else 0.05


def ask(engine: Engine, pace: Pace, body: object = None, *, may_write: bool = True) -> Any:
    """Send one request to the clock; return (status, content)."""
    method = "GET" if body is None else "POST"
    data = b"" if body is None else json.dumps(body).encode()
    answer = control_clock(Request(method, PATH, body=data), engine, pace, may_write=may_write)
    return answer.status, json.loads(answer.body)


@pytest.mark.parametrize("speed", [0.5, 60.0, math.inf])
def test_the_same_state_at_any_speed(build: Build, speed: float) -> None:
    """Seven minutes, slow or as fast as possible, ends in the same state."""
    whole, paced, clock = build(5), build(5), HandClock()
    end = whole.now + 420.0
    whole.advance(end)
    pace = Pace(clock, speed, paced.now)
    while paced.now < end:
        drive(paced, pace, clock, 2.0)
        if paced.now + 120.0 > end:
            paced.advance(end)

    assert paced.now >= end
    whole.advance(paced.now)
    assert whole.state_hash() == paced.state_hash()


def test_time_passes_at_the_speed_that_was_set(build: Build) -> None:
    """Ten wall seconds at 60 are 600 cluster seconds; paused they are none; at 6 they are 60."""
    engine, clock = build(5), HandClock()
    began = engine.now
    pace = Pace(clock, 60.0, engine.now)
    drive(engine, pace, clock, 10.0)
    assert engine.now - began == pytest.approx(600.0, abs=5.0)

    ask(engine, pace, {"paused": True})
    stood = engine.now
    drive(engine, pace, clock, 10.0)
    assert engine.now == stood

    ask(engine, pace, {"paused": False, "speed": 6})
    drive(engine, pace, clock, 10.0)
    assert engine.now - stood == pytest.approx(60.0, abs=1.0)


def test_one_advance_stays_short_however_fast(build: Build) -> None:
    """As fast as possible, an advance takes about as long as one may, so requests get their turn."""
    engine, clock = build(5), HandClock()
    pace = Pace(clock, math.inf, engine.now)
    drive(engine, pace, clock, 5.0)
    before, until = engine.now, pace.until(engine.now)

    assert engine.now - (clock.at - 50.0) > 1_000.0
    assert 10.0 < until - before < 120.0


def test_a_step_passes_exactly_its_time(build: Build) -> None:
    """A step of 30 s stands still 30 s later, also where time ran before."""
    engine, clock = build(5), HandClock()
    pace = Pace(clock, 1.0, engine.now)
    drive(engine, pace, clock, 1.0)
    began = engine.now
    status, said = ask(engine, pace, {"step_seconds": 30})
    drive(engine, pace, clock, 5.0)

    assert (status, said["paused"]) == (200, True)
    assert engine.now == pytest.approx(began + 30.0, abs=1e-5)


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({"speed": 0}, "speed: give a number over 0"),
        ({"speed": "fast"}, "speed: give a number over 0"),
        ({"speed": True}, "speed: give a number over 0"),
        ({"step_seconds": -1}, "step_seconds: give a number over 0"),
        ({"paused": 1}, "paused: 1 is neither true nor false"),
        ({"pace": 1}, "unknown member pace"),
    ],
)
def test_a_wrong_request_changes_nothing(build: Build, body: dict[str, Any], sentence: str) -> None:
    """It is refused with 400 and one sentence, and the pace stays."""
    engine, clock = build(5), HandClock()
    pace = Pace(clock, 2.0, engine.now)
    before = ask(engine, pace)
    status, said = ask(engine, pace, body)

    assert status == 400
    assert sentence in said["message"]
    assert before == ask(engine, pace)


def test_only_the_administrator_sets_the_clock(build: Build) -> None:
    """Who may not write may not touch the clock."""
    engine = build(5)
    pace = Pace(HandClock(), 2.0, engine.now)

    assert ask(engine, pace, {"paused": True}, may_write=False)[0] == 403
    assert not pace.paused
