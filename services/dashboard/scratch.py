"""Where the page puts what is too large for memory: a port, that `bus.scratch_file` fills."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Scratch(Protocol):
    """Bytes that are written at the end and read anywhere."""

    size_bytes: int

    def append(self, content: bytes) -> None:
        """Write behind what is there, all or nothing.

        Raises:
            OSError: there is no room.
        """

    def read(self, offset: int, size: int) -> bytes:
        """Return so many bytes from an offset on."""
        ...


NewScratch = Callable[[], Scratch]
"""Makes one; raises OSError where there is no place for it."""
