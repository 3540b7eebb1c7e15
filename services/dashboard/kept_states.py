"""States of the page at intervals of the log, packed, so that any moment between them is near one. Of bounded size.

A state as objects weighs some megabytes, packed some ten kilobytes. When all of them together are too large, every
second one goes and the distance doubles: a longer log costs longer ways between two states, not more memory.
"""

from __future__ import annotations

import pickle
import zlib
from array import array
from bisect import bisect_right

from services.dashboard.page import Page

EVERY_MESSAGES = 512
"""Messages between two kept states, at first."""
MOST_BYTES = 32 * 1024**2
"""Of all packed states."""
_LEVEL = 1


class KeptStates:
    """Packed states, oldest first."""

    def __init__(self) -> None:
        self.every = EVERY_MESSAGES
        """Messages between two of them now."""
        self.size_bytes = 0
        self._seqs = array("q")
        self._packed: list[bytes] = []

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self._packed)

    def offer(self, place: int, page: Page) -> None:
        """Keep the state after the message at a place, from 0, if it is one of those between which others lie."""
        if place % self.every:
            return
        packed = zlib.compress(pickle.dumps(page, pickle.HIGHEST_PROTOCOL), _LEVEL)
        self._seqs.append(page.overview.seq)
        self._packed.append(packed)
        self.size_bytes += len(packed)
        while self.size_bytes > MOST_BYTES and len(self._packed) > 1:
            self._seqs, self._packed = self._seqs[::2], self._packed[::2]
            self.size_bytes = sum(map(len, self._packed))
            self.every *= 2

    def seq_before(self, seq: int) -> int:
        """Return the position of the newest one that is not after a position; 0 where there is none."""
        place = bisect_right(self._seqs, seq)
        return self._seqs[place - 1] if place else 0

    def before(self, seq: int) -> Page | None:
        """Return the newest one that is not after a position."""
        place = bisect_right(self._seqs, seq)
        if not place:
            return None
        page: Page = pickle.loads(zlib.decompress(self._packed[place - 1]))  # noqa: S301 - packed here
        return page
