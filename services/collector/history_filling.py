"""What the collector tells of workloads beside its snapshots: history at a start, and what they use."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Sequence

import structlog

from bus.events import event_of
from bus.port import Bus
from features.live.machine_sizes import ALL_NODES
from schemas import subjects
from schemas.envelope import NewEvent
from schemas.history import HistoryFilled
from schemas.identity import Origin
from schemas.observation import ObservedState
from schemas.snapshot import SnapshotUsage
from services.collector.cluster import Lists
from services.collector.history_table import (
    KEPT_SECONDS,
    STEP_SECONDS,
    Points,
    filled_events,
    filled_steps,
    read_history_file,
)
from services.collector.observe import is_watched
from services.collector.reading import CycleReads
from services.collector.settings import CollectorSettings
from services.collector.usage_reading import UsageReader
from services.prometheus import PrometheusRefused, PrometheusServer
from services.prometheus_queries import (
    OF_REQUESTS,
    REQUESTED,
    REQUESTS,
    WORKLOAD,
    WORKLOAD_CPU,
    WORKLOAD_MEMORY,
)

DAY_SECONDS = 86_400
ASKED = (
    (REQUESTS, "service", OF_REQUESTS),
    (WORKLOAD_CPU, "cpu", WORKLOAD),
    (WORKLOAD_MEMORY, "memory", WORKLOAD),
    (REQUESTED, ALL_NODES, ()),
)
"""What a Prometheus is asked of the past: a purpose, the kind of its series, and the labels that name them."""
MOST_SECONDS = 60.0
"""Wall seconds that a start waits for the past; what has not come by then is left out, the oldest days first."""


class WorkloadEvents:
    """Events of workloads that wait to be published with the next cycle."""

    def __init__(self, settings: CollectorSettings, *, tells: bool = True) -> None:
        """Read as the settings say; nothing, where it tells nothing.

        Raises:
            ConfigError: a file that they name cannot be used.
        """
        self._settings = settings
        self._tells = tells
        self._usage = UsageReader(settings)
        files = settings.history_files if tells else ()
        self._tables: list[Points] = [read_history_file(file) for file in files]
        url = settings.prometheus.url
        self._server = PrometheusServer(settings.prometheus) if url else None
        self._past_asked = False
        self._since_seconds = -math.inf
        self._waiting: list[HistoryFilled | SnapshotUsage] = []
        self._log = structlog.get_logger("history")

    async def resume(self, bus: Bus, origin: Origin) -> None:
        """Learn from the log what needs no filling: a filled one lacks only what came after its newest event."""
        if await bus.last(subjects.build(origin.cluster, HistoryFilled.PATTERN)) is None:
            return
        stored = await bus.last(subjects.build(origin.cluster, ("observation",)))
        if stored is not None:
            data = event_of(stored).data
            assert isinstance(data, ObservedState)
            self._since_seconds = data.cluster_time_seconds - STEP_SECONDS

    async def read(self, lists: Lists, reading: CycleReads, time_seconds: float) -> None:
        """Read what there is to tell at a cluster time; never raises for what a server or the network does."""
        if not self._tells:
            return
        if not self._past_asked:
            self._past_asked = True
            await self._fill(time_seconds)
        usage = await self._usage.read(lists, reading, time_seconds)
        if usage is not None:
            self._waiting.append(usage)

    def new_events(self, cycle: int) -> list[NewEvent]:
        """Return what waits, for a cycle, in order; it waits no more."""
        waiting, self._waiting = self._waiting, []
        return [
            NewEvent(data.model_copy(update={"cycle": cycle}), cycle, data.cluster_time_seconds)
            for data in waiting
        ]

    async def _fill(self, now: float) -> None:
        told: dict[str, dict[int, float]] = {}
        for table in self._tables:
            for name, steps in filled_steps(table, now).items():
                told.setdefault(name, {}).update(steps)
        self._waiting += filled_events(told, self._settings.history_source, 0, now)
        self._tables.clear()
        if self._server is not None and now - self._since_seconds > 2 * STEP_SECONDS:
            points: dict[str, list[tuple[float, float]]] = defaultdict(list)
            try:
                async with asyncio.timeout(MOST_SECONDS):
                    await self._ask(self._server, now, points)
            except (TimeoutError, PrometheusRefused) as error:
                self._log.warning("history is incomplete", error=str(error) or "no answer in time")
            for one in points.values():
                one.sort()
            self._waiting += filled_events(filled_steps(points, now), "prometheus", 0, now)

    async def _ask(
        self, server: PrometheusServer, now: float, points: dict[str, list[tuple[float, float]]]
    ) -> None:
        """Add what the server says to `points`, day by day, the newest first."""
        end = now // STEP_SECONDS * STEP_SECONDS
        oldest = max(now - KEPT_SECONDS, self._since_seconds)
        while end > oldest:
            begin = max(end - DAY_SECONDS + STEP_SECONDS, oldest // STEP_SECONDS * STEP_SECONDS)
            for purpose, kind, keys in ASKED:
                await self._ask_range(server, (purpose, kind, keys), (begin, end), points)
            end = begin - STEP_SECONDS

    async def _ask_range(
        self,
        server: PrometheusServer,
        asked: tuple[str, str, Sequence[str]],
        span: tuple[float, float],
        points: dict[str, list[tuple[float, float]]],
    ) -> None:
        found = await asked_points(server, asked, span, STEP_SECONDS, self._settings.namespaces)
        for name, at, value in found:
            points[name].append((at, value))


async def asked_points(
    server: PrometheusServer,
    asked: tuple[str, str, Sequence[str]],
    span: tuple[float, float],
    step_seconds: float,
    watched: tuple[str, ...],
) -> list[tuple[str, float, float]]:
    """Return (series, begin of the step in Unix seconds, value) of one of `ASKED` between two times.

    Raises:
        PrometheusRefused: there is no answer, or none of that form.
    """
    purpose, kind, keys = asked
    query = server.queries[purpose]
    sums: dict[tuple[str, float], float] = defaultdict(float)
    for labels, values in await server.ask_range(query, *span, step_seconds):
        key = [labels.get(query.labels.get(name, name), "") for name in keys]
        if not all(key) or not all(is_watched(one, watched) for one in key[:1]):
            continue
        name = "/".join((kind, *(key[:2] if kind == "service" else key)))
        for at, value in values:
            if 0.0 <= value < math.inf:
                sums[name, at] += value  # a Service's codes are added up
    # A rate tells of the time before it.
    return [(name, at - step_seconds, value) for (name, at), value in sums.items()]
