"""Counts in texts for people."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from schemas.wording import count_text

ROOT = Path(__file__).parents[2]
NOUNS = "pods|nodes|events|messages|cycles|decisions|rows|executions|spans|incidents|points|workloads|proposals"
OWN_PLURAL = re.compile(rf"(?<!of )\{{[a-z_.]*(?:count|len\([a-z_.]+\))(?::,)?\}} (?:{NOUNS})\b")
SCREENS = [*(ROOT / "foresail").rglob("*.py"), *(ROOT / "projections").rglob("*.py")]


@pytest.mark.parametrize(
    ("count", "words", "text"),
    [
        (0, ("pod",), "0 pods"),
        (1, ("pod",), "1 pod"),
        (2, ("pod",), "2 pods"),
        (12_345, ("message",), "12,345 messages"),
        (1, ("message is lost", "messages are lost"), "1 message is lost"),
        (3, ("message is lost", "messages are lost"), "3 messages are lost"),
    ],
)
def test_a_noun_follows_its_count(count: int, words: tuple[str, ...], text: str) -> None:
    """One of a thing is singular, and thousands are set apart."""
    assert text == count_text(count, *words)


def test_screens_count_in_one_place() -> None:
    """No text for people puts a plural behind a number of its own accord (`1 pods`)."""
    found = {path.name: OWN_PLURAL.findall(path.read_text(encoding="utf-8")) for path in SCREENS}
    assert {} == {name: texts for name, texts in found.items() if texts}
