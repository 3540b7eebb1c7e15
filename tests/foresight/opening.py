"""A morning of examples/opening, played once on virtual time: a site whose requests rise eightfold at ten."""

from __future__ import annotations

import asyncio
from functools import cache
from pathlib import Path
from typing import Any

from bus.events import read_events
from foresail.log_source import RecordingSource
from foresail.settings import StackSettings, resolve
from foresail.stack.virtual import run_virtual_stack
from projections.foresight.log import READS, ForesightLog, Settled
from schemas.envelope import Event
from tests.made_once import made_once

OPENING = Path(__file__).parents[2] / "examples" / "opening"
START = "2026-01-02T09:48:00Z"
CYCLE_SECONDS = 15.0
PLAYED_SECONDS = 1_500.0
"""From 09:48 to 10:13."""


def settings_of(recording: Path, *, untouched: str = "on") -> StackSettings:
    """Return how it is played."""
    given = {
        "run.virtual_time": True,
        "run.for_seconds": PLAYED_SECONDS,
        "run.interval_seconds": CYCLE_SECONDS,
        "run.speed": 1.0,
        "run.workload": str(OPENING / "world.jsonl"),
        "run.weather": "off",
        "run.start_time": START,
        "run.untouched": untouched,
        "run.record": str(recording),
        "agents.profile": "foresail",
        "inference.shadow_models": (),
    }
    return resolve(None, {}, given)


@cache
def opening(untouched: str = "on") -> Path:
    """Return the recording; played once for all tests."""

    def play(folder: Path) -> None:
        settings = settings_of(folder / "opening.fslog", untouched=untouched)
        run_virtual_stack(settings, quiet=True)

    return made_once(f"opening-{untouched}", play) / "opening.fslog"


@cache
def foresight(untouched: str = "on") -> tuple[Settled, ...]:
    """Return every rise of the morning that was foreseen and acted on, with what came of it."""

    log = ForesightLog()
    for event in events_of(opening(untouched), *READS):
        log = log.after(event)
    return tuple(log.outcomes())


def events_of(recording: Path, *subjects: str) -> list[Event[Any]]:
    """Return a recording's events of some subjects."""

    async def read() -> list[Event[Any]]:
        entries = read_events(RecordingSource(recording).messages(subjects))
        return [entry.event async for entry in entries if entry.event is not None]

    return asyncio.run(read())
