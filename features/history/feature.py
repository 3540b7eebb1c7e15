"""Definition of a column."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of a feature set."""

    name: str
    unit: str
    key: str
    """What it is about: task, job, user, ...; `row` for what the anchor itself says."""
    source: str
    """Where it comes from: `attempts` (events of tasks), `jobs`, `requests` (the row), `nodes`."""
    meaning: str
