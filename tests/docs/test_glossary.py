"""Words of the glossary are used as it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import PACKAGES

ROOT = Path(__file__).parents[2]
GLOSSARY = ROOT / "docs" / "glossary.md"
BASELINE_AS_SEED = re.compile(
    r"\b[Ss]eed(?:'s)? (?:formula|systems?|fields?|rules?|profile|simulator|constants|rewards?)\b"
    r"|\b(?:SEED_FIELDS|seed_fields|seed-fields|seed-systems|SeedField|SeedFormula)\b"
)
STORED_NAMES = {"seed-formula", "seed-formula-measured", "seed-rewards"}
"""Names in stored data, which stay."""
SEED_NAME = re.compile(r"(?<![\w-])seed-[a-z][\w-]*")


def _pages() -> Iterator[tuple[Path, str]]:
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    files += (ROOT / "docs").rglob("*.md")
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
