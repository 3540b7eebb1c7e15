"""What a history of days holds once a cycle, held small: numbers over time, and comparisons of both worlds."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from schemas.score import OutcomeCounterfactual


def kept_places(
    times: Sequence[float], begin_seconds: float, whole_seconds: float
) -> Sequence[int]:
    """Return the places of samples that are held on: all from a second time on, and before it, from a first one on,
    every second one with the first, so that what lasts for days keeps its shape.

    Args:
        times: in order, oldest first.
        begin_seconds: nothing before it is held.
        whole_seconds: everything from it on is held.
    """
    first, whole = bisect_left(times, begin_seconds), bisect_left(times, whole_seconds)
    return [*range(first, whole, 2), *range(max(first, whole), len(times))]


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

    def copy(self) -> Samples:
        """Return a copy of its own."""
        other = Samples()
        other._times, other._values = self._times[:], self._values[:]
        return other

    def forget(self, begin_seconds: float, whole_seconds: float) -> None:
        """Hold nothing before a first time, and every second one from there to a second time."""
        places = kept_places(self._times, begin_seconds, whole_seconds)
        self._times = array("d", (self._times[place] for place in places))
        self._values = array("d", (self._values[place] for place in places))


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

    def copy(self) -> Differences:
        """Return a copy of its own."""
        other = Differences()
        other._times, other._packed = self._times[:], self._packed[:]
        return other

    def forget(self, begin_seconds: float, whole_seconds: float) -> None:
        """Hold of those before a first time only the last, and every second one from there to a second time."""
        first = bisect_right(self._times, begin_seconds) - 1
        begin = self._times[first] if first >= 0 else begin_seconds
        places = kept_places(self._times, begin, whole_seconds)
        self._times = array("d", (self._times[place] for place in places))
        self._packed = [self._packed[place] for place in places]

    def _at(self, place: int) -> OutcomeCounterfactual | None:
        if not 0 <= place < len(self._packed):
            return None
        return OutcomeCounterfactual.model_validate_json(zlib.decompress(self._packed[place]))
