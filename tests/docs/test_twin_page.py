"""docs/twin.md and docs/twin/machines.md say what the code says, and name what exists."""

from __future__ import annotations

import re
import runpy
from typing import Any

import pytest

from tests.architecture.source_tree import ROOT

PAGE = ROOT / "docs" / "twin.md"
MACHINES = ROOT / "docs" / "twin" / "machines.md"


@pytest.fixture
def page_generator() -> dict[str, Any]:
    """The page's generator."""
    return runpy.run_path(str(ROOT / "docs" / "make_twin.py"), run_name="make_twin")


def test_the_tables_are_those_of_the_code(page_generator: dict[str, Any]) -> None:
    """Both pages are up to date, and each table stands on one; `python -m docs.make_twin`."""
    texts = [path.read_text(encoding="utf-8") for path in (PAGE, MACHINES)]

    assert [page_generator["page"](text) for text in texts] == texts
    for name in (*page_generator["GROUPS"], "faults"):
        assert sum(f"<!-- begin {name} -->" in text for text in texts) == 1


def test_every_default_has_its_sentence(page_generator: dict[str, Any]) -> None:
    """Each field of each group is explained below it."""
    for group in page_generator["GROUPS"].values():
        assert set(page_generator["sentences"](group)) >= set(group.__dataclass_fields__)


def test_a_page_that_differs_is_seen(page_generator: dict[str, Any]) -> None:
    """The comparison can fail: another number in a table is put right."""
    text = PAGE.read_text(encoding="utf-8")
    wrong = text.replace("| `scrape_seconds` | `15` |", "| `scrape_seconds` | `16` |")

    assert wrong != text
    assert page_generator["page"](wrong) == text


def test_the_files_that_it_names_exist() -> None:
    """Code and pages that the text of each page points at are there."""
    for path, at_least in ((PAGE, 10), (MACHINES, 1)):
        text = path.read_text(encoding="utf-8")
        named = re.findall(r"`(twin/[a-z_/]+(?:\.py|/))`", text)
        linked = re.findall(r"\]\(([^)#:]+)\)", text)

        assert len(named) > at_least
        assert [name for name in named if not (ROOT / name).exists()] == []
        assert [link for link in linked if not (path.parent / link).exists()] == []
