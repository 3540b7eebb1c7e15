"""Incidents up to any moment, forth and back: each answer is that of a reader that has just begun."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from services.dashboard import incident_books
from services.dashboard.archive import Archive
from services.dashboard.incident_books import IncidentBooks
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
    """Whether a packed book lies before it or not, after every second one went, and while the log was not read yet."""
    monkeypatch.setattr(incident_books, "EVERY_POSITIONS", 200)
    monkeypatch.setattr(incident_books, "MOST_BOOKS", books)
    async with reading(recording=recording) as hub:
        last, archive = hub.page.overview.seq, hub.past.archive
        unread = replace(archive, incidents=IncidentBooks())

        def reader(of: Archive) -> IncidentReader:
            return IncidentReader(hub.past._messages, lambda: of, Turns())

        for one in (reader(archive), reader(unread)):
            for seq in (last, last // 2, 1, last // 3, last - 1):
                assert await one.incidents(seq) == await reader(unread).incidents(seq), seq
        told = await one.incidents(last)
        assert told["incidents"]
        assert told["forgotten"] == 0


async def test_the_newest_moment_is_read_already_and_going_back_reads_no_more_than_a_part(
    monkeypatch: pytest.MonkeyPatch, recording: Path
) -> None:
    """A step back in a day's log does not read it from its beginning."""
    monkeypatch.setattr(incident_books, "EVERY_POSITIONS", 200)
    async with reading(recording=recording) as hub:
        last, begins = hub.page.overview.seq, list[int]()

        def read(first: int, until: int, wanted: object) -> object:
            begins.append(first)
            return hub.past._messages(first, until, wanted)  # type: ignore[arg-type]

        reader = IncidentReader(read, lambda: hub.past.archive, Turns())  # type: ignore[arg-type]
        await reader.incidents(last)
        await reader.incidents(last - 5)

    assert begins[0] == last + 1
    assert begins[1] > last - 5 - 400 > 1
