"""Others' writes to the served twin, read from its journal while it grows."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bus.errors import ConfigError
from foresail.untouched.world import Write
from twin.port.process import EXECUTOR, request_of


class JournaledWrites:
    """Follows a journal from its beginning; what the executor wrote is left out."""

    def __init__(self, path: Path) -> None:
        """Follow the journal at `path`, which the twin has begun."""
        self._path = path
        self._read_bytes = 0
        self._lines = 0
        self._waiting: deque[Write] = deque()

    def until(self, time_seconds: float) -> Iterator[Write]:
        """Yield each write up to this cluster time, once.

        Raises:
            ConfigError: the journal cannot be read, is damaged, or does not name who wrote.
        """
        self._read_new_lines()
        while self._waiting and self._waiting[0].time_seconds <= time_seconds:
            yield self._waiting.popleft()

    def _read_new_lines(self) -> None:
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                for data in file:
                    if not data.endswith(b"\n"):
                        return  # still being written
                    self._read_bytes += len(data)
                    self._lines += 1
                    self._take(data)
        except OSError as error:
            raise ConfigError(
                "--journal", self._path, f"the twin's file ({error.strerror})"
            ) from error

    def _take(self, data: bytes) -> None:
        try:
            line: dict[str, Any] = json.loads(data)
            if "m" not in line:  # the head, or a time mark
                return
            write = Write(float(line["t"]), request_of(line))
            by = line["u"]
        except (ValueError, KeyError, TypeError) as error:
            remedy = f"line {self._lines} is damaged, or of an older twin; begin a new world"
            raise ConfigError("--journal", self._path, remedy) from error
        if by != EXECUTOR.name:
            self._waiting.append(write)
