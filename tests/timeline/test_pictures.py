"""The pictures in docs/ show what the commands show today."""

from __future__ import annotations

import asyncio

from docs.make_screens import DOCS, EXPLAINED, TOLD, drawn, explained
from foresail.explanation import screen
from foresail.log_source import RecordingSource
from foresail.story import TOLD as TOLD_OF
from foresail.story import Story
from schemas.registry import decode
from tests.readable_goldens import COLUMNS, ROWS, shown
from tests.timeline.scripted import played


def test_the_picture_of_an_explanation_is_current() -> None:
    """`python -m docs.make_screens` writes it anew."""
    assert explained(played(EXPLAINED).recording) == (DOCS / "explain.svg").read_text("utf-8")


def test_the_picture_of_a_timeline_is_current() -> None:
    """`python -m docs.make_screens` writes it anew."""
    assert drawn(played(TOLD).recording) == (DOCS / "timeline.svg").read_text("utf-8")


def test_pictures_load_nothing() -> None:
    """They can be looked at without a network."""
    for name in ("explain.svg", "timeline.svg"):
        text = (DOCS / name).read_text("utf-8")
        assert "@font-face" not in text
        assert "cdn" not in text


def test_the_screens_of_a_run_fit_the_terminal() -> None:
    """100 columns and 40 lines hold nearly every decision of a run, and no other is much longer."""
    stories: dict[int, Story] = {}

    async def gather_all() -> None:
        async for message in RecordingSource(played(EXPLAINED).recording).messages(TOLD_OF):
            event = decode(message.subject, message.headers, message.data, seq=message.seq)
            stories.setdefault(event.cycle, Story(event.cycle)).add(event)

    asyncio.run(gather_all())
    decided = [one for one in stories.values() if one.decision is not None]
    screens = [shown(screen(story, recording="run.fslog")).splitlines() for story in decided]
    assert len(screens) > 70
    longer = [len(lines) for lines in screens if len(lines) > ROWS]
    assert len(longer) <= 0.05 * len(screens)
    assert max(longer, default=0) <= ROWS + 3
    assert max(len(line) for lines in screens for line in lines) <= COLUMNS
