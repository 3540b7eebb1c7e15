"""Incidents up to any moment, forth and back: each answer is that of a reader that has just begun."""

from __future__ import annotations

from pathlib import Path

import pytest

from services.dashboard import incident_reader
from services.dashboard.incident_reader import IncidentReader
from services.dashboard.turns import Turns
from tests.dashboard.test_past import reading
from tests.foresight.opening import opening


@pytest.fixture
def recording() -> Path:
    """Return a recorded morning with incidents."""
    return opening()


@pytest.mark.parametrize("books", [1, 24])
async def test_every_moment_is_answered_as_if_it_were_the_first(
    monkeypatch: pytest.MonkeyPatch, recording: Path, books: int
) -> None:
    """Whether a packed book lies before it or not, and after every second one went."""
    monkeypatch.setattr(incident_reader, "EVERY_POSITIONS", 200)
    monkeypatch.setattr(incident_reader, "MOST_BOOKS", books)
    async with reading(recording=recording) as hub:
        last, turns = hub.page.overview.seq, Turns()
        read, recorded_ms = hub.past._messages, hub.past.archive.ms_at_cluster_time

        def new() -> IncidentReader:
            return IncidentReader(read, recorded_ms, turns)

        one = new()
        for seq in (last, last // 2, 1, last // 3, last - 1):
            assert await one.incidents(seq) == await new().incidents(seq)
        told = await one.incidents(last)
        assert told["incidents"]
        assert told["forgotten"] == 0


async def test_going_back_reads_no_more_than_lies_between_two_books(
    monkeypatch: pytest.MonkeyPatch, recording: Path
) -> None:
    """A step back in a day's log does not read it from its beginning."""
    monkeypatch.setattr(incident_reader, "EVERY_POSITIONS", 200)
    async with reading(recording=recording) as hub:
        last, begins = hub.page.overview.seq, list[int]()

        def read(first: int, until: int, wanted: object) -> object:
            begins.append(first)
            return hub.past._messages(first, until, wanted)  # type: ignore[arg-type]

        reader = IncidentReader(read, hub.past.archive.ms_at_cluster_time, Turns())  # type: ignore[arg-type]
        await reader.incidents(last)
        await reader.incidents(last - 5)

    assert begins[0] == 1
    assert begins[1] > last - 5 - 400 > 1
