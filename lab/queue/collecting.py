"""Looking at a cluster's queues again and again: each look goes to the log, with the alerts that are due.

Time is the cluster's: on a simulated one that runs faster, an hour is an hour there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bus.clock import Clock
from lab.queue.alerts import due_alerts, firing_after
from lab.queue.reading import kueue_version, read_queues
from lab.queue.samples import QueueLedger, QueueSample, take_sample
from lab.queue.sinks import Sink
from lab.queue.submitting import Submitter
from schemas.model import EventData
from schemas.queue import AlertName, QueueAlert
from services.cluster import ClusterRefused, ClusterUnavailable, Transport

FIRST_PAUSE_SECONDS = 1.0
"""Of wall time, until two looks have told how fast the cluster's time runs."""


@dataclass(frozen=True, slots=True)
class Watching:
    """How to look."""

    interval_seconds: float
    duration_seconds: float | None = None
    """None: until somebody ends it."""
    namespaces: Sequence[str] = ()
    """Whose Jobs count; empty: all."""


@dataclass(frozen=True, slots=True)
class Told:
    """Whom to tell besides the log."""

    on_look: Callable[[QueueSample], None]
    on_alert: Callable[[QueueAlert], None]
    on_failure: Callable[[str], None]
    """A look that gave no answer; the next one is another try."""


async def watch_queues(
    transport: Transport,
    watching: Watching,
    sink: Sink,
    told: Told,
    clock: Clock,
    submitter: Submitter | None = None,
) -> int:
    """QueueSample until the time is over; return how many looks there were.

    Raises:
        ClusterUnavailable: no answer at the very first look.
        ClusterRefused: the cluster does not let its Jobs be listed, at the very first look.
        AnotherWriter: somebody else writes the same log's queues.
    """
    version = await kueue_version(transport)
    watcher = QueueWatcher(transport, version, watching.namespaces, sink, told)
    begin = await watcher.look()
    pace = _Pace(clock, begin)
    next_look = begin + watching.interval_seconds
    end = math.inf if watching.duration_seconds is None else begin + watching.duration_seconds
    while True:
        due = min(next_look, end, math.inf if submitter is None else submitter.due(begin))
        now = await pace.sleep_until(due)
        try:
            if submitter is not None:
                await submitter.submit(transport, begin, now)
            if now < min(next_look, end):
                continue
            pace.note(now := await watcher.look())
        except (ClusterUnavailable, ClusterRefused) as error:
            told.on_failure(str(error))
        while next_look <= now:
            next_look += watching.interval_seconds
        if now >= end:
            return watcher.looks


class QueueWatcher:
    """Takes looks, one after the other."""

    def __init__(
        self,
        transport: Transport,
        version: str | None,
        namespaces: Sequence[str],
        sink: Sink,
        told: Told,
    ) -> None:
        """Begin without a look."""
        self._transport, self._version, self._namespaces = transport, version, namespaces
        self._sink, self._told = sink, told
        self._ledger = QueueLedger()
        self._firing: frozenset[AlertName] = frozenset()

    @property
    def looks(self) -> int:
        """How many looks there were."""
        return self._ledger.looks

    async def look(self) -> float:
        """Take a look, store and tell it; return its time. Raises as `read_queues` and the sink do."""
        reads = await read_queues(self._transport, self._version, self._namespaces)
        ledger, look = take_sample(self._ledger, reads)
        alerts = tuple(due_alerts(look.state, self._firing))
        events: list[EventData] = [*look.events(), *alerts]
        await self._sink.take(events, reads.time_seconds)
        self._ledger = ledger
        self._told.on_look(look)
        for alert in alerts:
            self._firing = firing_after(self._firing, alert)
            self._told.on_alert(alert)
        return reads.time_seconds


class _Pace:
    """How fast a cluster's time runs, measured: at its own, or faster on a simulated one."""

    def __init__(self, clock: Clock, cluster_seconds: float) -> None:
        self._clock = clock
        self._first = self._last = (clock.monotonic(), cluster_seconds)
        self._rate: float | None = None

    def note(self, cluster_seconds: float) -> None:
        """Take another answer of the cluster."""
        self._last = (self._clock.monotonic(), cluster_seconds)
        wall = self._last[0] - self._first[0]
        if wall > 0:
            self._rate = max(1.0, (cluster_seconds - self._first[1]) / wall)

    async def sleep_until(self, cluster_seconds: float) -> float:
        """Wait; return the time that it then is in the cluster, as far as is known."""
        wall, now = self._last
        rate = self._rate or 1.0
        pause = wall + (cluster_seconds - now) / rate - self._clock.monotonic()
        if self._rate is None:
            pause = min(pause, FIRST_PAUSE_SECONDS)
        await self._clock.sleep(max(0.0, pause))
        if self._rate is None:
            return cluster_seconds  # a look too early does no harm, and tells the rate
        return max(cluster_seconds, now + (self._clock.monotonic() - wall) * rate)
