"""Positions of messages in the log and when each was recorded, two bytes a message. Pure.

Positions follow one another but where a log has a hole, and times are asked for to the millisecond: a stretch says
where it begins, each message only how many milliseconds later it was recorded.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

_MOST_MS = 2**16 - 1
"""Of a stretch, a little more than a minute: what an item of 16 bits holds. A stretch itself takes 24 bytes."""


class Positions:
    """Every message, oldest first, by its place from 0."""

    def __init__(self) -> None:
        self._places = array("q")
        """Of each stretch: the place of its first message,"""
        self._seqs = array("q")
        """the position of that one in the log,"""
        self._begins_ms = array("q")
        """and when it was recorded."""
        self._later_ms = array("H")

    def __len__(self) -> int:
        """Return how many messages there are."""
        return len(self._later_ms)

    def append(self, seq: int, recorded_ms: int) -> None:
        """Add a message behind all others, recorded so many milliseconds after the Unix epoch."""
        place = len(self._later_ms)
        if (
            not place
            or seq != self._seqs[-1] + place - self._places[-1]
            or not 0 <= recorded_ms - self._begins_ms[-1] <= _MOST_MS
        ):
            self._places.append(place)
            self._seqs.append(seq)
            self._begins_ms.append(recorded_ms)
        self._later_ms.append(recorded_ms - self._begins_ms[-1])

    def seq(self, place: int) -> int:
        """Return the position of the message at a place; -1 is the newest one's.

        Raises:
            IndexError: there is none.
        """
        place = range(len(self))[place]
        stretch = bisect_right(self._places, place) - 1
        return self._seqs[stretch] + place - self._places[stretch]

    def ms(self, place: int) -> int:
        """Return when the message at a place was recorded, in milliseconds; -1 is the newest one.

        Raises:
            IndexError: there is none.
        """
        place = range(len(self))[place]
        return self._begins_ms[bisect_right(self._places, place) - 1] + self._later_ms[place]

    def place_of(self, seq: int) -> int:
        """Return the place of the first message that is not before a position; their number where there is none."""
        stretch = bisect_right(self._seqs, seq) - 1
        if stretch < 0:
            return 0
        last = stretch + 1 == len(self._places)
        end = len(self) if last else self._places[stretch + 1]
        return min(end, self._places[stretch] + seq - self._seqs[stretch])

    def recorded_by(self, time_ms: int) -> int:
        """Return how many messages were recorded by the end of a millisecond."""
        return bisect_right(range(len(self)), time_ms, key=self.ms)
