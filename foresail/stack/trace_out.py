"""`--trace-out`: each cycle of a run as a row of the predecessor's trace, written as the next one begins."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from bus.errors import InputError
from foresail.stack.watch import Watch
from lab.recordings.predecessors.rows import Row, TraceRows, row_line
from schemas.envelope import Event


class TraceFile:
    """Follows a run's events and writes rows; a full disk ends the file, not the run."""

    def __init__(self, path: Path, watch: Watch) -> None:
        """Write to a new file.

        Raises:
            InputError: it is there already, or cannot be made.
        """
        self._rows = TraceRows()
        self._watch = watch
        try:
            self._file: IO[str] | None = path.open("x", encoding="utf-8")
        except OSError as error:
            remedy = f"give a new file in a folder that can be written ({error.strerror})"
            raise InputError("--trace-out", path, remedy) from error

    def add(self, event: Event[Any]) -> None:
        """Take an event."""
        self._write(self._rows.add(event))

    def close(self) -> None:
        """Write the last row."""
        self._write(self._rows.end())
        if self._file is not None:
            self._file.close()

    def _write(self, row: Row | None) -> None:
        if row is None or self._file is None:
            return
        try:
            self._file.write(row_line(row))
            self._file.flush()
        except OSError as error:
            self._file = None
            self._watch.notes.append(f"the trace ended: {error.strerror}")


def follow_with_trace(path: str | None, watch: Watch) -> Callable[[], None]:
    """Write what `watch` reads to a trace file, where one was asked for; return what ends it.

    Raises:
        InputError: the file is there already, or cannot be made.
    """
    if path is None:
        return lambda: None
    trace = TraceFile(Path(path), watch)
    watch.listeners.append(trace.add)
    return trace.close
