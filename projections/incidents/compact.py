"""What a history of days holds once a cycle, held small: numbers over time, and comparisons of both worlds."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from schemas.score import OutcomeCounterfactual


class Samples:
    """Numbers over time, oldest first, 16 bytes each."""

    def __init__(self) -> None:
        self._times = array("d")
        self._values = array("d")

    def add(self, time_seconds: float, value: float) -> None:
        """Take one in."""
        self._times.append(time_seconds)
        self._values.append(value)

    def __iter__(self) -> Iterator[tuple[float, float]]:
        """Yield each with its time."""
        return zip(self._times, self._values, strict=True)


class Differences:
    """Comparisons of both worlds in the order of the log, packed; as objects one of them has some 20 kB."""

    def __init__(self) -> None:
        self._times = array("d")
        self._packed: list[bytes] = []

    def add(self, difference: OutcomeCounterfactual) -> None:
        """Take one in."""
        self._times.append(difference.cluster_time_seconds)
        self._packed.append(zlib.compress(difference.model_dump_json().encode(), 1))

    def around(
        self, begin_seconds: float, end_seconds: float
    ) -> tuple[OutcomeCounterfactual | None, OutcomeCounterfactual | None]:
        """Return the last one up to a time, and the first behind it that is not before its end, or else the newest.

        Either is None where there is none.
        """
        first = bisect_right(self._times, begin_seconds)
        last = max(first, min(bisect_left(self._times, end_seconds), len(self._packed) - 1))
        return self._at(first - 1), self._at(last)

    def _at(self, place: int) -> OutcomeCounterfactual | None:
        if not 0 <= place < len(self._packed):
            return None
        return OutcomeCounterfactual.model_validate_json(zlib.decompress(self._packed[place]))
