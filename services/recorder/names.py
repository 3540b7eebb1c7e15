"""Names of recordings: whose log, when they begin and at which position, so that a listing says what is where."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import NamedTuple

ENDING = ".fslog"
OPEN = ".partial"
"""Ending of the one that is being written, behind `ENDING`."""
_NAME = re.compile(
    r"(?P<cluster>[A-Za-z0-9_-]+)\.(?P<incarnation>[A-Za-z0-9_-]+)\.(?P<time>\d{8}T\d{6}Z)\.(?P<seq>\d{12,18})"
)
_TIME = "%Y%m%dT%H%M%SZ"
NANOSECONDS = 1_000_000_000


class RecordingName(NamedTuple):
    """What a file's name says."""

    cluster: str
    incarnation: str
    begin_seconds: int
    """Recorded time of the first event, in seconds since the Unix epoch."""
    first_seq: int
    """Position of the first event that no recording before it holds."""

    def text(self) -> str:
        """Return the file's name."""
        time = datetime.fromtimestamp(self.begin_seconds, UTC).strftime(_TIME)
        return f"{self.cluster}.{self.incarnation}.{time}.{self.first_seq:012d}{ENDING}"


def read_name(name: str) -> RecordingName | None:
    """Return what the name of a recording says; None for any other file."""
    if not name.endswith(ENDING):
        return None
    match = _NAME.fullmatch(name.removesuffix(ENDING))
    if match is None:
        return None
    try:
        begin = datetime.strptime(match["time"], _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None
    seconds = int(begin.timestamp())
    return RecordingName(match["cluster"], match["incarnation"], seconds, int(match["seq"]))
