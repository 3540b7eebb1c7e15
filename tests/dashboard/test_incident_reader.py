"""Incidents up to any moment, forth and back: each answer is that of a reader that has just begun."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from bus.recording import open_recording
from bus.scratch_file import ScratchFile
from services.dashboard import incident_books
from services.dashboard.archive import Archive
from services.dashboard.arrival import arrival_of
from services.dashboard.incident_books import IncidentBooks
from services.dashboard.incident_reader import IncidentReader
from services.dashboard.turns import Turns
from tests.dashboard.test_past import reading
from tests.foresight.opening import opening


@pytest.fixture
def recording() -> Path:
    """Return a recorded morning with incidents."""
    return opening()


def test_where_nothing_can_be_written_no_book_is_kept(
    monkeypatch: pytest.MonkeyPatch, recording: Path
) -> None:
    """Each is tried once in a while, not with every message; what is newest is told all the same."""
    monkeypatch.setattr(incident_books, "EVERY_POSITIONS", 200)
    tried = list[None]()

    def full() -> ScratchFile:
        tried.append(None)
        raise OSError(errno.ENOSPC, "no space left on device")

    books, messages = IncidentBooks(full), list(open_recording(recording))
    for message in messages:
        books.add(arrival_of(message, placements=True))
    middle, last = messages[len(messages) // 2].seq, messages[-1].seq

    assert 1 < len(tried) <= last / 200
    assert books.seq_before(middle) == 0
    assert books.before(middle)[0] == 0
    assert books.before(last)[1].incidents()


@pytest.mark.parametrize("books", [1, 24])
async def test_every_moment_is_answered_as_if_it_were_the_first(
    monkeypatch: pytest.MonkeyPatch, recording: Path, books: int
) -> None:
    """Whether a packed book lies before it or not, after every second one went, and while the log was not read yet."""
    monkeypatch.setattr(incident_books, "EVERY_POSITIONS", 200)
    monkeypatch.setattr(incident_books, "MOST_BOOKS", books)
    async with reading(recording=recording) as hub:
        last, archive = hub.page.overview.seq, hub.past.archive
        unread = replace(archive, incidents=IncidentBooks(ScratchFile))

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
