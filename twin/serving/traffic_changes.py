"""What scenarios do to the requests of Services while it lasts: more or fewer, or another course.

Factors of several changes multiply; of several courses the newest counts. The times of a course are seconds since
the change began.
"""

from __future__ import annotations

from dataclasses import dataclass

from twin.chance import key_of
from twin.part import Part, keepable
from twin.serving.service_requests import ServiceRequests
from twin.traffic import Traffic, read_traffic


@keepable
@dataclass(frozen=True, slots=True)
class TrafficChange:
    """One change."""

    services: tuple[str, ...]
    """As `namespace/name`; none: all."""
    factor: float
    traffic: str
    """The course instead of the Service's own, as its annotation says it; empty: its own."""
    since: float
    """Unix seconds."""
    key: int
    """Of its draws."""

    def concerns(self, service: str) -> bool:
        """Say whether it is about a Service (`namespace/name`)."""
        return not self.services or service in self.services


class TrafficChanges(Part):
    """Those that are in force."""

    KEEPS = ("_running",)
    LEAVES = ("_read",)

    def __init__(self) -> None:
        self._running: dict[int, TrafficChange] = {}
        self._read: dict[int, Traffic] = {}

    def restored(self) -> None:
        """Read the courses anew."""
        self._read.clear()

    def begin(self, number: int, change: TrafficChange) -> None:
        """Let a change be in force until `end(number)`."""
        self._running[number] = change

    def end(self, number: int) -> bool:
        """Let go of a change; False for an unknown number."""
        self._read.pop(number, None)
        return self._running.pop(number, None) is not None

    def expected(self, player: ServiceRequests, begin: float, end: float, start: float) -> float:
        """Return the requests of a Service that are to be expected between two unix times; `start` is that
        of the cluster.
        """
        factor, newest = 1.0, None
        for number, change in self._running.items():
            if change.concerns(player.key):
                factor *= change.factor
                newest = number if change.traffic else newest
        if newest is None:
            return factor * player.expected(begin, end, start)
        change = self._running[newest]
        if newest not in self._read:
            self._read[newest] = read_traffic(change.traffic)
        burst_key = key_of(change.key, player.key)
        return factor * player.expected_of(
            self._read[newest], (begin, end), change.since, burst_key
        )
