"""The collector's lists, each followed by a watch instead of read in every cycle.

What cannot be watched (node metrics) is listed every `metrics_seconds`. A list that the server lets us
read but not watch is listed in every cycle, as without following. A server that hangs keeps its
connections, so its watches are only quiet: when metrics do not come, it is asked for its version, and
without an answer every list is lost that it has not spoken of since.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from random import Random
from typing import Any, cast

import structlog

from bus.clock import Clock
from bus.item_errors import ItemErrors
from schemas.reasons import Reason
from schemas.snapshot import SourceRead
from services.cluster import ClusterRefused, ClusterUnavailable
from services.collector.cluster import (
    NODE_METRICS,
    ApiList,
    ListingSources,
    Lists,
    T,
    read_failure,
)
from services.collector.reading import ListRead
from services.collector.settings import CollectorSettings
from services.kube_follow import ClusterTime, FollowedList, FollowTimes, WatchTransport


class SeparateSources:
    """Lists of which one that raises is a failed source, and the others are read as ever."""

    def __init__(self, lists: Lists, errors: ItemErrors) -> None:
        """Read from `lists`."""
        self._lists = lists
        self._errors = errors

    async def read(self, source: ApiList[T], otherwise_time_seconds: float) -> ListRead[T]:
        """Return a list, or its failure."""
        with self._errors.item(f"source {source.name}", otherwise_time_seconds) as item:
            return await self._lists.read(source, otherwise_time_seconds)
        failed = ClusterRefused(200, "Unreadable", item.text)
        return ListRead(read_failure(source, failed, otherwise_time_seconds))


class FollowedSources:
    """Answers reads of lists from what watches have brought; within `running` they are kept up to date."""

    def __init__(
        self,
        sources: Sequence[ApiList[Any]],
        transport: WatchTransport,
        clock: Clock,
        settings: CollectorSettings,
        random: Random,
        metrics_from: Lists | None = None,
        errors: ItemErrors | None = None,
    ) -> None:
        """Follow `sources`; `random` spreads requests over time and decides nothing else.

        What nodes use comes from `metrics_from` where it is given; the API server is then asked for its
        version instead, so that one that hangs is noticed as soon.
        """
        self._transport = transport
        self._listing = ListingSources(transport, metrics_from)
        self._others_metrics = metrics_from is not None
        self._clock = clock
        self._settings = settings
        self._time = ClusterTime(clock, settings.speed)
        self._tasks: list[asyncio.Task[None]] = []
        self._metrics: tuple[float, ListRead[Any]] | None = None
        self._hanging: tuple[float, ClusterUnavailable] | None = None
        self._log = structlog.get_logger("follow")
        times = FollowTimes(silent_seconds=settings.watch_silence_seconds)
        self.lists: dict[str, FollowedList[Any]] = {
            source.name: FollowedList(
                source.path, source.kind, transport, clock, self._time, random, times, errors
            )
            for source in sources
        }

    @property
    def cluster_time_seconds(self) -> float | None:
        """The server's time now, as its newest answer and our clock imply; None before the first."""
        return self._time.now()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep every list up to date within the context."""
        self._tasks = [asyncio.create_task(each.run()) for each in self.lists.values()]
        try:
            yield
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def settle(self, seconds: float) -> None:
        """Wait until each list has been read or refused for the first time, at most so long."""
        try:
            async with asyncio.timeout(seconds):
                for followed in self.lists.values():
                    await followed.settled.wait()
        except TimeoutError:
            self._log.warning("lists are still being read", seconds=seconds)

    async def read(self, source: ApiList[T], otherwise_time_seconds: float) -> ListRead[T]:
        """Return what is known of a list now; never raises for what the API server or the network does."""
        for task in self._tasks:
            if task.done():
                task.result()  # following ends by an error of ours alone
        followed = cast("FollowedList[T] | None", self.lists.get(source.name))
        if source.name == NODE_METRICS.name:
            return await self._read_metrics(source, otherwise_time_seconds)
        if followed is None or followed.may_not_watch:
            return await self._listing.read(source, otherwise_time_seconds)
        failure = followed.failure or self._hangs_since(followed.heard_seconds)
        if failure is not None or followed.heard_seconds is None:
            failure = failure or ClusterUnavailable("not read yet")
            return ListRead(read_failure(source, failure, otherwise_time_seconds))
        objects = followed.index.objects()
        record = SourceRead(
            source=source.name,
            ok=True,
            read_time_seconds=followed.heard_seconds,
            resource_version=followed.index.version,
            items=len(objects),
            watched=True,
        )
        return ListRead(record, objects)

    async def _read_metrics(self, source: ApiList[T], otherwise_time_seconds: float) -> ListRead[T]:
        """Return the newest list of metrics, or why there is none; its samples say when they were made."""
        now = self._clock.monotonic()
        if self._metrics is not None:
            at, known = self._metrics
            outdated = known.source.ok and self._unreachable and not self._others_metrics
            if now - at < self._settings.metrics_seconds and not outdated:
                return cast("ListRead[T]", known)
        listed = await self._listing.read(source, otherwise_time_seconds)
        self._metrics = (now, listed)
        if listed.source.ok and not self._others_metrics:
            self._time.note(listed.source.read_time_seconds)
        silent = self._others_metrics or listed.source.reason is Reason.API_UNREACHABLE
        self._hanging = await self._probe() if silent else None
        return listed

    @property
    def _unreachable(self) -> bool:
        """Whether a list is lost because nobody answers."""
        failures = (followed.failure for followed in self.lists.values())
        return any(isinstance(failure, ClusterUnavailable) for failure in failures)

    async def _probe(self) -> tuple[float, ClusterUnavailable] | None:
        """Ask for the version, which every account may read; without an answer, since when and why."""
        asked = self._time.now() or 0.0
        try:
            await self._transport.request("GET", "/version")
        except ClusterUnavailable as error:
            return asked, error
        except ClusterRefused:
            return None
        return None

    def _hangs_since(self, heard_seconds: float | None) -> ClusterUnavailable | None:
        """Return why nothing is known since `heard_seconds`; None while the server answers."""
        if self._hanging is None or (heard_seconds or 0.0) > self._hanging[0]:
            return None
        return self._hanging[1]
