"""Which part of the twin the CPU time of a piece of work goes to, by samples of its call stack.

A sample every 10 ms of CPU time (`signal.ITIMER_PROF`) counts once, for the part whose event is being handled:
the first file of `twin/` on the stack behind the clock, so that what a controller writes counts as its own.
"""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path
from types import FrameType, TracebackType
from typing import Self

_ROOT = Path(__file__).parent.parent
_INTERVAL_SECONDS = 0.01
_DRIVERS = ("twin/clock.py", "twin/engine.py")
_ROOMS = ("twin/provisioners/", "twin/health/")
"""What also counts for its own room when another part's change calls it."""


class CpuShares:
    """Takes samples between `with` and its end; works in the main thread only."""

    def __init__(self) -> None:
        self.samples: Counter[str] = Counter()

    def __enter__(self) -> Self:
        """Begin to take samples."""
        signal.signal(signal.SIGPROF, self._sample)
        signal.setitimer(signal.ITIMER_PROF, _INTERVAL_SECONDS, _INTERVAL_SECONDS)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take no more samples."""
        signal.setitimer(signal.ITIMER_PROF, 0.0)

    def _sample(self, number: int, frame: FrameType | None) -> None:
        del number
        files = []
        while frame is not None:
            path = Path(frame.f_code.co_filename)
            if path.is_relative_to(_ROOT):
                files.append(path.relative_to(_ROOT).as_posix())
            frame = frame.f_back
        self.samples[_part(files)] += 1

    def shares(self, most: int) -> list[tuple[str, float]]:
        """Return the largest parts with their shares of all samples (0 to 1), the largest first."""
        total = sum(self.samples.values()) or 1
        return [(part, count / total) for part, count in self.samples.most_common(most)]


def _part(files: list[str]) -> str:
    """Return the part of a stack, given its files of the repository from the innermost out."""
    for room in _ROOMS:
        if any(name.startswith(room) for name in files):
            return room
    twin = [name for name in files if name.startswith("twin/") and name not in _DRIVERS]
    return twin[-1] if twin else "the clock itself"
