"""One random stream per concern, so that a change in one behaviour leaves the others alone."""

from __future__ import annotations

import hashlib
import random


class Streams:
    """Named streams, each seeded from (seed, name)."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, concern: str) -> random.Random:
        """Return the stream of `concern`."""
        if concern not in self._streams:
            text = f"{self._seed}/{concern}".encode()
            seed = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
            self._streams[concern] = random.Random(seed)
        return self._streams[concern]

    def state(self) -> object:
        """Return the state of every stream."""
        return [[name, str(self._streams[name].getstate())] for name in sorted(self._streams)]
