"""Reads what workloads use, once a minute: from the Metrics Server, or from the Prometheus of the settings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from schemas.snapshot import SnapshotUsage
from services.collector.cluster import Lists, api_list
from services.collector.reading import CycleReads
from services.collector.settings import CollectorSettings
from services.collector.workload_usage import (
    PodMetrics,
    WorkloadUse,
    usage_table,
    use_of_pods,
    use_of_sums,
)
from services.prometheus import PrometheusRefused, PrometheusServer, values_by
from services.prometheus_queries import WORKLOAD, WORKLOAD_CPU, WORKLOAD_MEMORY

POD_METRICS = api_list(
    "pod_metrics", "/apis/metrics.k8s.io/v1beta1/pods", PodMetrics, optional=True
)
USAGE_SECONDS = 60.0
"""Cluster seconds between two looks; a Metrics Server samples every 15 to 60 s."""
PODS_A_SECOND = 200.0
"""Larger clusters are looked at less often, so that no cycle pays for more pods than these a second."""


class UsageReader:
    """Asks when it is time to."""

    def __init__(self, settings: CollectorSettings) -> None:
        """Ask the Prometheus of the settings, or else the API server.

        Raises:
            ConfigError: a file that the settings name cannot be used.
        """
        self._namespaces = settings.namespaces
        url = settings.prometheus.url
        self._server = PrometheusServer(settings.prometheus) if url else None
        self._asked_seconds: float | None = None

    async def read(
        self, lists: Lists, reading: CycleReads, time_seconds: float
    ) -> SnapshotUsage | None:
        """Return what is used at a cluster time, of no cycle yet; None when it is not time, or nothing is known.

        Never raises for what a server or the network does.
        """
        pods = reading.pods.items
        spacing = max(USAGE_SECONDS, len(pods) / PODS_A_SECOND)
        asked = self._asked_seconds
        if not pods or (asked is not None and time_seconds - asked < spacing):
            return None
        self._asked_seconds = time_seconds
        if self._server is None:
            used = await self._by_pods(lists, reading, time_seconds)
        else:
            used = await self._by_sums(self._server, reading)
        if not used:
            return None
        table, omitted = usage_table(used, reading.deployments.items)
        return SnapshotUsage(
            cycle=0,
            cluster_time_seconds=time_seconds,
            source="metrics_server" if self._server is None else "prometheus",
            omitted=omitted,
            workloads=table,
        )

    async def _by_pods(
        self, lists: Lists, reading: CycleReads, time_seconds: float
    ) -> Mapping[str, WorkloadUse]:
        listed = await lists.read(POD_METRICS, time_seconds)
        return use_of_pods(reading.pods.items, listed.items, self._namespaces)

    async def _by_sums(
        self, server: PrometheusServer, reading: CycleReads
    ) -> Mapping[str, WorkloadUse]:
        try:
            cores, memory = await asyncio.gather(
                *(self._sums(server, purpose) for purpose in (WORKLOAD_CPU, WORKLOAD_MEMORY))
            )
        except PrometheusRefused:
            return {}
        return use_of_sums(reading.pods.items, cores, memory, self._namespaces)

    async def _sums(self, server: PrometheusServer, purpose: str) -> dict[str, float]:
        query = server.queries[purpose]
        values = values_by(await server.ask(query), WORKLOAD, query.labels)
        return {"/".join(key): value for key, value in values.items()}
