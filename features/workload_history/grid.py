"""The grid of a history: steps of five minutes since the epoch of cluster time, chunks of 48 steps.

Values are kept to 12 significant bits (an error of 0.024 % at most), so that a chunk packs to about two bytes a
value and comes back exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

STEP_SECONDS = 300
DAY_STEPS = 86_400 // STEP_SECONDS
CHUNK_STEPS = 48
"""Four hours: the largest chunk of `MOST_SERIES` series still fits one message."""
KEPT_CHUNKS = 14 * DAY_STEPS // CHUNK_STEPS
KEPT_STEPS = KEPT_CHUNKS * CHUNK_STEPS
MOST_SERIES = 3_000
"""Series followed at most: 61 MB of values and sources."""
SOURCES = ("", "observed", "prometheus", "table", "recording")
"""Where a value came from, by the number that is kept of it; 0: there is none."""
MISSING, OBSERVED = 0, 1
_BITS = 12

Values = NDArray[np.float32]
"""Values of a chunk, (series, `CHUNK_STEPS`), NaN where unknown."""
Marks = NDArray[np.uint8]
"""Their sources, numbers in `SOURCES`."""


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Four hours of the first series of a history; series that came later have no row in an older chunk."""

    number: int
    """It begins with step `number * CHUNK_STEPS`."""
    values: Values
    sources: Marks

    @property
    def first_step(self) -> int:
        """Its first step since the epoch."""
        return self.number * CHUNK_STEPS

    def with_rows(self, count: int) -> Chunk:
        """Return the chunk with rows for so many series, new ones unknown; its arrays are its own."""
        rows = empty_chunk(self.number, max(count, len(self.values)))
        rows.values[: len(self.values)] = self.values
        rows.sources[: len(self.sources)] = self.sources
        return rows


def empty_chunk(number: int, rows: int) -> Chunk:
    """Return a chunk in which nothing is known."""
    shape = (rows, CHUNK_STEPS)
    return Chunk(number, np.full(shape, np.nan, np.float32), np.zeros(shape, np.uint8))


def step_at(time_seconds: float) -> int:
    """Return the step that holds a moment of cluster time."""
    return int(time_seconds // STEP_SECONDS)


def to_kept_precision(values: NDArray[Any]) -> Values:
    """Return values as they are kept: float32 with 12 significant bits, NaN for what is not finite or below 0."""
    with np.errstate(over="ignore", invalid="ignore"):
        known = np.asarray(values, dtype=np.float32)
        mantissa, exponent = np.frexp(known)
        kept = np.ldexp(np.rint(mantissa * 2.0**_BITS) / 2.0**_BITS, exponent)
        return np.where(np.isfinite(known) & (known >= 0.0), kept, np.nan).astype(np.float32)
