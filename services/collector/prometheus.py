"""Usage of nodes, from a Prometheus instead of the Metrics Server.

Three questions at a time, in the form of `metrics.k8s.io` afterwards: nothing behind this file knows
who was asked, but the snapshot says so. A question that fails makes the source fail for this cycle.
"""

from __future__ import annotations

import asyncio
from typing import cast

from schemas.envelope import rfc3339
from schemas.snapshot import SourceRead
from services.collector.cluster import ApiList, T
from services.collector.reading import ListRead, failed_read
from services.kube_objects import CPU, MEMORY, Meta, NodeMetrics
from services.prometheus import SERVER, PrometheusRefused, PrometheusServer, no_value, values_by
from services.prometheus_queries import NODE, NODE_CPU, NODE_MEMORY, NODE_SAMPLE
from services.prometheus_settings import PrometheusSettings

_LATEST_SECONDS = 253_402_300_800.0
"""The year 10000, which no time stamp can say."""


class PrometheusMetrics:
    """Answers reads of node metrics (`services.collector.cluster.Lists`)."""

    def __init__(self, settings: PrometheusSettings) -> None:
        """Ask the Prometheus of these settings.

        Raises:
            ConfigError: a file that they name cannot be read.
        """
        self._server = PrometheusServer(settings)

    async def read(self, source: ApiList[T], otherwise_time_seconds: float) -> ListRead[T]:
        """Return the metrics of all nodes, which are what `source` must stand for; never raises for
        what Prometheus or the network does.

        The read counts as of `otherwise_time_seconds`: another server's clock says nothing about the
        cluster's.
        """
        try:
            cores, memory, seconds = await asyncio.gather(
                self._by_node(NODE_CPU), self._by_node(NODE_MEMORY), self._by_node(NODE_SAMPLE)
            )
        except PrometheusRefused as refused:
            record = failed_read(
                source.name, otherwise_time_seconds, refused.reason, f"{SERVER}: {refused}"
            )
            return ListRead(record.model_copy(update={"server": SERVER}))
        window = self._server.queries[NODE_CPU].covered_seconds
        items = _node_metrics(cores, memory, seconds, window)
        record = SourceRead(
            source=source.name,
            ok=True,
            read_time_seconds=otherwise_time_seconds,
            items=len(items),
            server=SERVER,
        )
        return ListRead(record, cast("tuple[T, ...]", items))

    async def _by_node(self, purpose: str) -> dict[str, float]:
        """Return the answer's values by node.

        Raises:
            PrometheusRefused: there is none, or it has no label of nodes.
        """
        query = self._server.queries[purpose]
        values = values_by(await self._server.ask(query), (NODE,), query.labels)
        if not values:
            raise PrometheusRefused(no_value([query.labels.get(NODE, NODE)]))
        return {node: value for (node,), value in values.items()}


def _node_metrics(
    cores: dict[str, float], memory: dict[str, float], seconds: dict[str, float], window: float
) -> tuple[NodeMetrics, ...]:
    """Return what is known of each node that has a time; what is not known is left out."""
    return tuple(
        NodeMetrics(
            metadata=Meta(name=node),
            timestamp=rfc3339(seconds[node]),
            window=f"{window:g}s",
            usage={
                **({CPU: f"{cores[node]:.6f}"} if node in cores else {}),
                **({MEMORY: str(round(memory[node]))} if node in memory else {}),
            },
        )
        for node in sorted(seconds)
        if seconds[node] < _LATEST_SECONDS
    )
