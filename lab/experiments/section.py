"""A part of a report: a heading, a sentence, a table, and which picture it has on a page."""

from __future__ import annotations

from dataclasses import dataclass

from lab.experiments.effects import Verdict


@dataclass(frozen=True, slots=True)
class Table:
    """Text in rows; the first `names` columns are names, the others figures."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    names: int = 1
    verdicts: tuple[Verdict | None, ...] = ()
    """Of each row, which ends with it in words; empty: rows have none."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the report."""

    kind: str
    """What a picture of it shows: `effect`, `workloads`, `worst`, `tradeoff`, `profile`, `pressure`, ..."""
    title: str
    about: str
    table: Table
    metric: str = ""
    """Of an `effect` section."""
    place: int = 0
    """Which of several of its kind."""
