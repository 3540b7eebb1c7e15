"""The pictures in docs/ show what the commands show today."""

from __future__ import annotations

from docs.make_screens import DOCS, EXPLAINED, TOLD, drawn, explained
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
