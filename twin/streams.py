"""One random stream per concern, so that a change in one behaviour leaves the others alone."""

from __future__ import annotations

import hashlib
import random

from twin.part import Kept, Part


class Streams(Part):
    """Named streams, each seeded from (seed, name)."""

    KEEPS = ("_streams",)

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._streams: dict[str, random.Random] = {}

    def stream(self, concern: str) -> random.Random:
        """Return the stream of `concern`; it stays the same object for good."""
        if concern not in self._streams:
            text = f"{self._seed}/{concern}".encode()
            seed = int.from_bytes(hashlib.sha256(text).digest()[:8], "big")
            self._streams[concern] = random.Random(seed)
        return self._streams[concern]

    def kept(self) -> Kept:
        """Return the state of every stream, by name."""
        names = sorted(self._streams)
        return {"_streams": {name: self._streams[name].getstate() for name in names}}

    def restore(self, kept: Kept) -> None:
        """Set the streams that behaviours already hold; one unknown here begins as drawn from."""
        for name, state in kept["_streams"].items():
            self.stream(name).setstate(state)
