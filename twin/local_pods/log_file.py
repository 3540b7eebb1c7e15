"""The log of one run of a container: lines with the cluster time at which they were written.

A file of its own, cut in two halves when it is full: the older half goes first, as a kubelet rotates logs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

Line = tuple[float, str]
"""(cluster time in unix seconds, text)"""
LONGEST_LINE = 16 << 10
"""Bytes of a line; a longer one is cut into several, as containerd does."""
Listener = Callable[[Line | None], None]
"""Called with each new line, and with None after the last."""


class LogFile:
    """Takes what a container's processes print."""

    def __init__(self, path: Path, most_bytes: int) -> None:
        """Write to a new file, and keep at most so many bytes."""
        self._path = path
        self._older = path.with_suffix(".older.log")
        self._half = most_bytes // 2
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("wb")
        self._size = 0
        self._listeners: list[Listener] = []
        self.ended = False
        self.count = 0
        """Lines written so far, with those that are kept no more."""

    def write(self, at: float, data: bytes) -> None:
        """Add a line without its end."""
        for start in range(0, max(len(data), 1), LONGEST_LINE):
            part = data[start : start + LONGEST_LINE]
            line = b"%.6f %s\n" % (at, part.replace(b"\r", b""))
            if self._size + len(line) > self._half:
                self._turn()
            self._file.write(line)
            self._file.flush()
            self._size += len(line)
            self.count += 1
            for listener in tuple(self._listeners):
                listener((at, part.decode(errors="replace")))

    def end(self) -> None:
        """No more lines will come."""
        self.ended = True
        self._file.close()
        for listener in tuple(self._listeners):
            listener(None)
        self._listeners.clear()

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with what comes from now on; returns what ends it."""
        if self.ended:
            listener(None)
            return lambda: None
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def lines(self) -> Iterator[Line]:
        """Yield what is kept, oldest first."""
        for path in (self._older, self._path):
            if path.exists():
                with path.open("rb") as file:
                    for row in file:
                        at, _, text = row.rstrip(b"\n").partition(b" ")
                        yield float(at), text.decode(errors="replace")

    def tail(self, most_bytes: int, most_lines: int) -> str:
        """Return the last lines, within both bounds."""
        text = "".join(f"{line}\n" for _, line in list(self.lines())[-most_lines:])
        return text.encode()[-most_bytes:].decode(errors="ignore")

    def remove(self) -> None:
        """Delete its files."""
        if not self.ended:
            self.end()
        for path in (self._older, self._path):
            path.unlink(missing_ok=True)

    def _turn(self) -> None:
        self._file.close()
        self._path.replace(self._older)
        self._file = self._path.open("wb")
        self._size = 0
