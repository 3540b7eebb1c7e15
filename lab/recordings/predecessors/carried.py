"""What an import makes of a file, and what it leaves behind with the reason."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lab.recordings.predecessors.forms import Form
from schemas.envelope import NewEvent
from schemas.imported import ImportedLine

NO_PLACE = "Foresail has no place for it"


@dataclass(slots=True)
class LeftOut:
    """Counts what is not carried over, by what it is and why."""

    counts: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, what: str, why: str = NO_PLACE) -> None:
        """Count one."""
        self.counts[what, why] += 1

    def add_extras(self, prefix: str, extras: Mapping[str, Any] | None) -> None:
        """Count fields that nobody knows."""
        for name in extras or {}:
            self.add(f"{prefix}{name}")

    def rows(self) -> Iterator[tuple[str, int, str]]:
        """Yield what, how often and why, in the order in which they were met."""
        for (what, why), count in self.counts.items():
            yield what, count, why


@dataclass(frozen=True, slots=True)
class CarriedEvent:
    """An event to be stored, and which earlier one it follows from."""

    event: NewEvent
    after_row: bool = False
    """Whether the newest row is its cause."""


def word_for_word(form: Form, number: int, content: Mapping[str, Any], at: float) -> CarriedEvent:
    """Return a row or line as it stands in its file."""
    text = json.dumps(content, ensure_ascii=False)
    return CarriedEvent(NewEvent(ImportedLine(cycle=number, form=form, content=text), number, at))
