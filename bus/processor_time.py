"""How much processor time a process has used, and how long it waited for a processor, as Linux counts them.

A process that is kept waiting, beside other work or by the quota of its cgroup, is slow and not at fault. So time in
which one waits for it counts without that; limits in such time grow with what the machine shows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

NANOSECONDS = 1e9

Threads = Mapping[int, tuple[float, float]]
"""Of each thread by id: seconds it ran, and seconds it could have run and had no processor."""
ReadThreads = Callable[[int], Threads]
"""Takes a process id; gives nothing for a process that is gone, or where the kernel does not count."""


@dataclass(frozen=True, slots=True)
class ProcessorTime:
    """Change between two measurements."""

    used_seconds: float = 0.0
    """By all threads together."""
    delayed_seconds: float = 0.0
    """Of the thread that waited longest for a processor."""


def read_threads(pid: int) -> Threads:
    """Return what the kernel has counted for the threads of a process (`/proc/PID/task/*/schedstat`)."""
    found: dict[int, tuple[float, float]] = {}
    try:
        for folder in Path(f"/proc/{pid}/task").iterdir():
            used, delayed, _ = (folder / "schedstat").read_text(encoding="ascii").split()
            found[int(folder.name)] = (int(used) / NANOSECONDS, int(delayed) / NANOSECONDS)
    except (OSError, ValueError):
        return found
    return found


class ProcessorMeter:
    """Tells what one process used and waited for since the last look."""

    def __init__(self, pid: int, read: ReadThreads = read_threads) -> None:
        """Begin to count now."""
        self._pid = pid
        self._read = read
        self._before = read(pid)

    def since_last(self) -> ProcessorTime:
        """Return what was counted since the last look, or the beginning."""
        now = self._read(self._pid)
        grown = [
            (used - before[0], delayed - before[1])
            for thread, (used, delayed) in now.items()
            for before in (self._before.get(thread, (0.0, 0.0)),)
        ]
        self._before = now
        if not grown:
            return ProcessorTime()
        return ProcessorTime(sum(used for used, _ in grown), max(delay for _, delay in grown))
