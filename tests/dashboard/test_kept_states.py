"""What the page keeps of a long log: packed states of a bounded size, and ways between them that are as short."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bus.port import Messages
from bus.recording.bus import RecordingBus
from services.dashboard import kept_states
from services.dashboard.kept_states import KeptStates
from services.dashboard.page import Page
from tests.dashboard.test_past import RECORDING, reading, reduced

MESSAGES = 400


def at(page: Page, seq: int) -> Page:
    """Return a state as it would be at another position."""
    return replace(page, overview=replace(page.overview, seq=seq))


async def filled(monkeypatch: pytest.MonkeyPatch, most_states: int) -> KeptStates:
    """Return what is kept of many states when only so many may be."""
    page, _ = await reduced(201)
    one = KeptStates()
    one.offer(0, page)
    monkeypatch.setattr(kept_states, "EVERY_MESSAGES", 1)
    monkeypatch.setattr(kept_states, "MOST_BYTES", most_states * one.size_bytes)
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
