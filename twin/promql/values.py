"""What expressions are worth: series over steps as matrices, and raw samples for functions of ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from twin.promql.failures import QueryFailed

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Times = npt.NDArray[np.int64]
"""Milliseconds since the epoch, rising."""
Labels = Mapping[str, str]
Key = tuple[tuple[str, str], ...]
NAME = "__name__"
SAME_LABELS = "vector cannot contain metrics with the same labelset"


def no_times() -> Times:
    """Return an empty array of times."""
    return np.zeros(0, np.int64)


@dataclass(slots=True, frozen=True)
class Batch:
    """Series that have samples at the same times."""

    labels: Sequence[Labels]
    times: Times
    values: Floats
    """(series, times)."""
    ended: Times = field(default_factory=no_times)
    """When a scrape no longer had them: from then on, until the next sample, they are not there."""


@dataclass(slots=True, frozen=True)
class Matcher:
    """One condition on a label; a missing label counts as empty."""

    label: str
    test: Callable[[str], bool]
    equals: str | None = None
    """The only value that passes, where there is just one."""


class Source(Protocol):
    """Where samples are."""

    def select(self, matchers: Sequence[Matcher], begin: int, end: int) -> Iterable[Batch]:
        """Yield series with their samples from `begin` to `end` (milliseconds, both included)."""


@dataclass(slots=True)
class Vector:
    """Series over the steps of a query."""

    labels: list[Labels]
    values: Floats
    """(series, steps); whatever stands where nothing is present has no meaning."""
    present: Bools

    @classmethod
    def empty(cls, steps: int) -> Vector:
        """Return a vector without series."""
        return cls([], np.zeros((0, steps)), np.zeros((0, steps), np.bool_))

    @classmethod
    def joined(cls, parts: Sequence[Vector], steps: int) -> Vector:
        """Return all series of several vectors."""
        parts = [part for part in parts if part.labels]
        if not parts:
            return cls.empty(steps)
        if len(parts) == 1:
            return parts[0]
        return cls(
            [labels for part in parts for labels in part.labels],
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.present for part in parts]),
        )

    def without_names(self) -> Vector:
        """Drop the metric names."""
        return Vector(
            [without(labels, (NAME,)) for labels in self.labels], self.values, self.present
        )

    def nowhere_dropped(self) -> Vector:
        """Drop series that are present at no step."""
        kept: Bools = np.asarray(self.present.any(axis=1))
        if kept.all():
            return self
        labels = [labels for labels, keep in zip(self.labels, kept, strict=True) if keep]
        return Vector(labels, self.values[kept], self.present[kept])

    def merged(self, message: str = SAME_LABELS, *, apart: bool = True) -> Vector:
        """Join series with equal labels that are present at different steps.

        Raises QueryFailed when two are there at one step, or whenever there are two unless `apart`.
        """
        rows: dict[Key, list[int]] = {}
        for row, labels in enumerate(self.labels):
            rows.setdefault(key_of(labels), []).append(row)
        if len(rows) == len(self.labels):
            return self
        firsts = [same[0] for same in rows.values()]
        values, present = self.values.copy(), self.present.copy()
        for first, *others in rows.values():
            for row in others:
                if not apart or (present[first] & self.present[row]).any():
                    raise QueryFailed(message)
                values[first] = np.where(self.present[row], self.values[row], values[first])
                present[first] |= self.present[row]
        return Vector([self.labels[row] for row in firsts], values[firsts], present[firsts])


@dataclass(slots=True, frozen=True)
class Ranges:
    """Samples behind a range selector or a subquery."""

    batches: Sequence[Batch]
    ends: Times
    """The end of the range at each step."""
    range_ms: int
    steps: Times
    """The steps themselves, which offset and @ do not move."""


@dataclass(slots=True, frozen=True)
class Scalar:
    """One number a step."""

    values: Floats


Value = Vector | Scalar | Ranges | str


def key_of(labels: Labels) -> Key:
    """Return labels as something that can be compared."""
    return tuple(sorted(labels.items()))


def without(labels: Labels, names: Iterable[str]) -> Labels:
    """Return labels without some."""
    dropped = set(names)
    return {name: value for name, value in labels.items() if name not in dropped}


def only(labels: Labels, names: Iterable[str]) -> Labels:
    """Return those of some labels that are there."""
    return {name: labels[name] for name in names if labels.get(name)}
