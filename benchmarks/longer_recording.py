"""A recording played several times on end as one longer one, for measurements that need more events than anybody waits
for: positions, times, cycles and ids go on from one time to the next, everything else is the same again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

from bus.events import cycle_of_message
from bus.port import StoredMessage
from bus.recording import open_recording

_CYCLE = re.compile(rb'("(?:\w+_)?cycle":)(\d+)')
_TIME = re.compile(rb"\b(1[5-9]\d{8})(?=\.\d)")
"""Cluster times: seconds since the Unix epoch, always with a decimal point."""
_ID = re.compile(rb"\b([0-9a-f]{8})(?=-[0-9a-f]{4}-5[0-9a-f]{3}-)")
NANOSECONDS = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Shift:
    """How far a message is moved."""

    times: int
    """How often the recording was played before."""
    seq: int
    recorded_ns: int
    cycles: int
    cluster_seconds: int

    def of(self, message: StoredMessage) -> StoredMessage:
        """Return the message as the log would hold it later on."""
        if self.times == 0:
            return message
        headers = {name: self._header(name, text) for name, text in message.headers.items()}
        return StoredMessage(
            message.seq + self.seq,
            message.time_ns + self.recorded_ns,
            message.subject,
            headers,
            self._text(message.data),
        )

    def _header(self, name: str, text: str) -> str:
        match name:
            case "ce-time":
                moved = datetime.fromisoformat(text) + timedelta(seconds=self.cluster_seconds)
                return f"{moved:%Y-%m-%dT%H:%M:%S.%f}Z"
            case "ce-correlationid":
                place, _, cycle = text.rpartition("/")
                return f"{place}/{int(cycle) + self.cycles}" if cycle.isdecimal() else text
            case _:
                return _ID.sub(self._id, text.encode()).decode()

    def _text(self, data: bytes) -> bytes:
        data = _CYCLE.sub(lambda found: found[1] + b"%d" % (int(found[2]) + self.cycles), data)
        data = _TIME.sub(lambda found: b"%d" % (int(found[1]) + self.cluster_seconds), data)
        return _ID.sub(self._id, data)

    def _id(self, found: re.Match[bytes]) -> bytes:
        return b"%08x" % (int(found[1], 16) ^ self.times)


def played_on_end(path: Path) -> Iterator[StoredMessage]:
    """Yield the messages of a recording again and again without end, as one log that goes on."""
    step = _step(path)
    for times in count():
        shift = Shift(
            times,
            times * step.seq,
            times * step.recorded_ns,
            times * step.cycles,
            times * step.cluster_seconds,
        )
        yield from map(shift.of, open_recording(path))


def _step(path: Path) -> Shift:
    """Return how far the second time lies behind the first one."""
    first_ns = last_ns = last_seq = 0
    cycles: list[int] = []
    seconds: list[int] = []
    for message in open_recording(path):
        first_ns, last_ns, last_seq = first_ns or message.time_ns, message.time_ns, message.seq
        if message.subject.endswith(".observation") and (found := _TIME.search(message.data)):
            cycles.append(cycle_of_message(message))
            seconds.append(int(found[1]))
    interval = (seconds[-1] - seconds[0]) // max(1, cycles[-1] - cycles[0])
    return Shift(
        times=1,
        seq=last_seq,
        recorded_ns=last_ns - first_ns + NANOSECONDS,
        cycles=cycles[-1] + 1,
        cluster_seconds=seconds[-1] - seconds[0] + max(1, interval),
    )
