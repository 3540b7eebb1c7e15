"""docs/twin.md and the pages below it that are made from code say what the code says, and name what exists."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.source_tree import ROOT
from twin.port.settings import HealthConfig

PAGE = ROOT / "docs" / "twin.md"
PAGES = (PAGE, ROOT / "docs" / "twin" / "machines.md", ROOT / "docs" / "twin" / "health.md")


@pytest.fixture
def page_generator() -> dict[str, Any]:
    """The page's generator."""
    return runpy.run_path(str(ROOT / "docs" / "make_twin.py"), run_name="make_twin")


def test_the_tables_are_those_of_the_code(page_generator: dict[str, Any]) -> None:
    """The pages are up to date, and each table stands on one; `python -m docs.make_twin`."""
    texts = [path.read_text(encoding="utf-8") for path in PAGES]

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


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_the_files_that_it_names_exist(path: Path) -> None:
    """Code and pages that the text points at are there."""
    text = path.read_text(encoding="utf-8")
    named = re.findall(r"`(twin/[a-z_/]+(?:\.py|/))`", text)
    linked = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)

    assert len(named) > 1
    assert [name for name in named if not (ROOT / name).exists()] == []
    assert [link for link in linked if not (path.parent / link).exists()] == []


def test_each_rate_of_the_weather_names_a_study_or_says_that_it_is_invented(
    page_generator: dict[str, Any],
) -> None:
    """No figure of the weather comes from nowhere."""
    said = page_generator["sentences"](HealthConfig)
    without = [
        name for name, sentence in said.items() if not re.search(r"invented|(19|20)\d\d", sentence)
    ]
    assert without == ["weather"]
