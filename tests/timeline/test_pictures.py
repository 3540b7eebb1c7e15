"""The pictures in docs/ show what the commands show today."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from bus.events import read_events
from docs.make_screens import DOCS, EXPLAINED, TOLD, explain_screen, timeline_screen
from foresail.explanation import screen
from foresail.log_source import RecordingSource
from projections.cycle_record import CYCLE_SUBJECTS, CycleRecords
from tests.readable_goldens import COLUMNS, ROWS, plain_text
from tests.timeline.scripted import play_incident


@pytest.mark.parametrize(
    ("name", "draw", "played"),
    [("explain", explain_screen, EXPLAINED), ("timeline", timeline_screen, TOLD)],
)
def test_a_picture_is_current(name: str, draw: Callable[..., str], played: Any) -> None:
    """`python -m docs.make_screens` writes it anew."""
    assert draw(play_incident(played).recording) == (DOCS / f"{name}.svg").read_text("utf-8")


def test_pictures_load_nothing() -> None:
    """They can be looked at without a network."""
    for name in ("explain.svg", "timeline.svg"):
        text = (DOCS / name).read_text("utf-8")
        assert "@font-face" not in text
        assert "cdn" not in text


def test_the_screens_of_a_run_fit_the_terminal() -> None:
    """100 columns and 40 lines hold nine in ten decisions of a run, and no other is much longer."""

    async def read_all() -> CycleRecords:
        records = CycleRecords(limit=1_000)
        messages = RecordingSource(play_incident(EXPLAINED).recording).messages(CYCLE_SUBJECTS)
        async for entry in read_events(messages):
            assert entry.event is not None
            records = records.after(entry.event)
        return records

    decided = [one for one in asyncio.run(read_all()).by_cycle.values() if one.decision]
    screens = [plain_text(screen(record, recording="run.fslog")).splitlines() for record in decided]
    assert len(screens) > 70
    longer = [len(lines) for lines in screens if len(lines) > ROWS]
    assert len(longer) <= 0.1 * len(screens)
    assert max(longer, default=0) <= ROWS + 3
    assert max(len(line) for lines in screens for line in lines) <= COLUMNS
