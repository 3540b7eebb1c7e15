"""The glossary's table of changed words: what it sends readers to exists, what it retired is gone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.source_tree import PACKAGES

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
NAME = re.compile(r"`(\w+)`")
DISTINCT = re.compile(r"[A-Z]\w+|[a-z]+_\w+")
"""A class, or a name of several words: no local variable is called so by chance."""


def _rows() -> Iterator[tuple[str, str]]:
    table = GLOSSARY.read_text(encoding="utf-8").split("## Words that changed")[1]
    for line in table.splitlines():
        if line.startswith("| ") and not line.startswith("| before"):
            before, now = line.strip("| ").split(" | ")
            yield before, now


def _defined_names() -> set[str]:
    """Return the names of all classes, functions and methods of the product and its proofs."""
    return {
        node.name
        for package in (*PACKAGES, "proofs")
        for path in (ROOT / package).rglob("*.py")
        if "tests" not in path.parts
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    }


@pytest.fixture(scope="module")
def defined_names() -> set[str]:
    """Return the names once for both tests."""
    return _defined_names()


def test_every_new_word_exists(defined_names: set[str]) -> None:
    """A reader who follows the table finds a definition."""
    new = {name for _, now in _rows() for name in NAME.findall(now)} - {"applied"}

    assert len(new) > 100
    assert [] == sorted(new - defined_names)


def test_no_retired_word_is_defined_again(defined_names: set[str]) -> None:
    """A retired name whose row has no remark has no second meaning left, so nothing is called so."""
    now = {name for _, right in _rows() for name in NAME.findall(right)}
    retired = {
        name
        for before, _ in _rows()
        if "(" not in before
        for name in NAME.findall(before)
        if DISTINCT.fullmatch(name)
    }

    assert "Speaker" in retired
    assert [] == sorted((retired - now) & defined_names)


BASELINE_AS_SEED = re.compile(
    r"\b[Ss]eed(?:'s)? (?:formula|systems?|fields?|rules?|profile|simulator|constants|rewards?)\b"
    r"|\b(?:SEED_FIELDS|seed_fields|seed-fields|seed-systems|SeedField|SeedFormula)\b"
)
STORED_NAMES = {"seed-formula", "seed-formula-measured", "seed-rewards"}
"""Names in stored data, which stay."""
SEED_NAME = re.compile(r"(?<![\w-])seed-[a-z][\w-]*")
TABLES_OF_CHANGES = {"glossary.md", "CHANGELOG.md"}


def _pages() -> Iterator[tuple[Path, str]]:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    files += [path for path in (ROOT / "docs").rglob("*.md") if path.name not in TABLES_OF_CHANGES]
    for path in files:
        yield path.relative_to(ROOT), path.read_text(encoding="utf-8")


def test_a_seed_is_a_random_seed() -> None:
    """What Foresail grew from is the baseline, but for the names that stand in stored data."""
    texts = dict(_pages())
    wrong = {path: BASELINE_AS_SEED.findall(text) for path, text in texts.items()}
    names = {name for text in texts.values() for name in SEED_NAME.findall(text)}

    assert {} == {path: words for path, words in wrong.items() if words}
    assert STORED_NAMES == names
    assert "| seed | where random numbers begin" in GLOSSARY.read_text(encoding="utf-8")
