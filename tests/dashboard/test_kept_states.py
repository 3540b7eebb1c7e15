"""What the page keeps of a long log: packed states of a bounded size, and ways between them that are as short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from bus.port import Messages
from bus.recording.bus import RecordingBus
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


async def filled(monkeypatch: pytest.MonkeyPatch, most_states: int) -> KeptStates:
    """Return what is kept of many states when only so many may be."""
    page, _ = await reduced(201)
    two = KeptStates()
    two.offer(0, page)
    first_bytes = two.size_bytes
    two.offer(two.every, at(page, 1))
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", 1)
    monkeypatch.setattr(
        kept_states, "MOST_BYTES", first_bytes + most_states * (two.size_bytes - first_bytes)
    )
    states = KeptStates()
    for place in range(MESSAGES):
        states.offer(place, at(page, place + 1))
    return states


async def test_a_longer_log_keeps_no_more_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 400 states there are as many as fit, spread over the whole log, each as it was."""
    states = await filled(monkeypatch, 10)
    page, _ = await reduced(201)

    assert states.size_bytes <= kept_states.MOST_BYTES
    assert states.every == 64
    assert len(states) == MESSAGES // states.every + 1
    assert [states.seq_before(seq) for seq in (0, 1, 64, 65, 400)] == [0, 1, 1, 65, 385]
    assert states.before(0) is None
    assert states.before(100) == at(page, 65)


async def test_a_record_that_stays_is_packed_once() -> None:
    """A state of the same cycles takes less than two thirds of the first; one of them that changed takes a little."""
    page, _ = await reduced(201)
    kept, sizes = KeptStates(), [0]
    for place, one in enumerate((page, page, at(page, 1))):
        kept.offer(place * kept.every, one)
        sizes.append(kept.size_bytes)
    first, same, changed = (after - before for before, after in pairwise(sizes))

    assert same < first * 2 / 3
    assert same < changed < (first + same) / 2


async def test_states_that_share_records_come_back_as_they_were() -> None:
    """After each message of a log, with the records in their order, those too that changed or went later."""
    page = Page(overview=Overview(cycles=CycleRecords(limit=5)))
    kept, pages = KeptStates(), list[Page]()
    async for message in RecordingBus(RECORDING).history([">"]):
        page = evolve(page, arrival_of(message))
        kept.offer(len(pages) * kept.every, page)
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
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", 16)
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
