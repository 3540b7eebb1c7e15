"""The commands that docs/twin/api.md promises are those that are tested."""

from __future__ import annotations

from pathlib import Path

from twin.tests.kubectl.commands import COMMANDS, table

PAGE = Path(__file__).parents[2] / "docs" / "twin" / "api.md"


def test_the_page_holds_the_tested_table() -> None:
    """The table of the page is the one that the tests run; `python -m twin.tests.kubectl.commands`
    prints it.
    """
    assert table() in PAGE.read_text(encoding="utf-8")
    assert len(COMMANDS) >= 40
