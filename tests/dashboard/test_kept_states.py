"""What the page keeps of a long log: packed states on disk, of a bounded size, near the moments of late."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from bus.port import Messages
from bus.recording.bus import RecordingBus
from bus.scratch_file import ScratchFile
from projections.cycle_record import CycleRecords
from projections.overview import Overview
from services.dashboard import kept_states
from services.dashboard.arrival import arrival_of
from services.dashboard.kept_states import KeptStates
from services.dashboard.page import Page, evolve
from tests.dashboard.test_past import RECORDING, reading, reduced

MESSAGES = 400


def at(page: Page, seq: int) -> Page:
    """Return a state as it would be at another position, where a message of its oldest cycle could not be read."""
    cycles = page.overview.cycles
    oldest = min(cycles.by_cycle)
    records = {**cycles.by_cycle, oldest: cycles.by_cycle[oldest].after_unreadable(seq)}
    return replace(
        page,
        overview=replace(page.overview, seq=seq, cycles=replace(cycles, by_cycle=records)),
    )


async def filled(monkeypatch: pytest.MonkeyPatch, every: tuple[int, ...]) -> KeptStates:
    """Return what is kept of many states, in rows of these distances, each of about ten states at most."""
    page, _ = await reduced(201)
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", (1,))
    one = KeptStates(ScratchFile)
    one.offer(0, page)
    monkeypatch.setattr(kept_states, "MOST_BYTES", 10 * one.size_bytes)
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", every)
    states = KeptStates(ScratchFile)
    for place in range(MESSAGES):
        states.offer(place, at(page, place + 1))
    return states


async def test_a_longer_log_keeps_no_more_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest moments are near a state, older ones a longer way from one; each state is as it was."""
    states = await filled(monkeypatch, (1, 20))
    page, _ = await reduced(201)

    assert len(states) < 60
    assert states.size_bytes < 2.5 * kept_states.MOST_BYTES
    assert [states.seq_before(seq) for seq in (396, 400, 500)] == [396, 400, 400]
    old = [states.seq_before(seq) for seq in range(1, 340)]
    assert max(seq - begin for seq, begin in enumerate(old, 1) if begin) == 19
    first = next(begin for begin in old if begin)
    assert states.before(first - 1) is None
    assert states.before(first) == states.before(first + 19) == at(page, first)
    assert states.before(400) == at(page, 400)


async def test_a_disk_without_room_keeps_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a file may have no more than some states, the newest are kept and come back as they were."""
    page, _ = await reduced(201)
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", (1,))
    states = KeptStates(ScratchFile)
    states.offer(0, at(page, 1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3 * states.size_bytes, before[1]))
    try:
        for place in range(1, 50):
            states.offer(place, at(page, place + 1))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert 2 < len(states) < 20
    nearest = states.seq_before(50)
    assert nearest >= 49
    assert states.before(50) == at(page, nearest)


async def test_without_a_place_for_files_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment is then read from the beginning of the log, and the page goes on."""
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    page, _ = await reduced(201)
    states = KeptStates(ScratchFile)
    states.offer(0, page)

    assert not states.size_bytes
    assert states.before(201) is None
    async with reading(recording=RECORDING) as hub:
        assert (await hub.past.page_at(201)) == page


async def test_a_record_that_stays_is_packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A state of the same cycles takes less than two thirds of the first; one of them that changed takes a little."""
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", (1,))
    page, _ = await reduced(201)
    kept, sizes = KeptStates(ScratchFile), [0]
    for place, one in enumerate((page, page, at(page, 1))):
        kept.offer(place, one)
        sizes.append(kept.size_bytes)
    first, same, changed = (after - before for before, after in pairwise(sizes))

    assert same < first * 2 / 3
    assert same < changed < (first + same) / 2


async def test_states_that_share_records_come_back_as_they_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """After each message of a log, with the records in their order, those too that changed or went later."""
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", (1, 8))
    page = Page(overview=Overview(cycles=CycleRecords(limit=5)))
    kept, pages = KeptStates(ScratchFile), list[Page]()
    async for message in RecordingBus(RECORDING).history([">"]):
        page = evolve(page, arrival_of(message))
        kept.offer(len(pages), page)
        pages.append(page)

    assert len(page.overview.cycles.by_cycle) == 5
    for one in pages:
        back = kept.before(one.overview.seq)
        assert back == one
        assert list(back.overview.cycles.by_cycle) == list(one.overview.cycles.by_cycle)


async def test_the_way_to_a_moment_begins_at_the_nearest_state_that_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One step on from what was shown reads one message; a moment far from it begins at a kept state."""
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", (16,))
    asked: list[tuple[int, int | None]] = []
    history = RecordingBus.history

    def noting(
        bus: RecordingBus,
        subjects: Sequence[str],
        *,
        start_seq: int = 1,
        end_seq: int | None = None,
    ) -> Messages:
        asked.append((start_seq, end_seq))
        return history(bus, subjects, start_seq=start_seq, end_seq=end_seq)

    async with reading(recording=RECORDING) as hub:
        monkeypatch.setattr(RecordingBus, "history", noting)
        for seq in (110, 111, 40):
            assert (await hub.past.page_at(seq)).overview.seq == seq

    assert asked == [(98, 110), (111, 111), (34, 40)]
