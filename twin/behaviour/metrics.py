"""Metrics Server: what `metrics.k8s.io` shows, one scrape behind and only for what was seen twice.

CPU is the mean over the scrape gap, memory the last working set. A new pod has no metric until its
second scrape; machines that do not answer have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twin.behaviour.node_table import Floats, NodeTable, node_sums
from twin.behaviour.usage_table import UsageTable
from twin.part import Part
from twin.records import Object, PodRecord
from twin.timestamps import rfc3339
from twin.world import World

API_VERSION = "metrics.k8s.io/v1beta1"


class Metrics(Part):
    """The newest scrape, rendered on demand."""

    KEEPS = ("_scraped_at", "_pods", "_node_cpu", "_node_memory", "_answering", "_cpu")

    def __init__(self, world: World, nodes: NodeTable, usage: UsageTable) -> None:
        self._world = world
        self._nodes = nodes
        self._usage = usage
        self._scraped_at: float | None = None
        self._pods: dict[str, tuple[float, float]] = {}  # uid: millicores, bytes
        self._node_cpu: Floats = np.zeros(0)
        self._node_memory: Floats = np.zeros(0)
        self._answering: frozenset[str] = frozenset()
        self._cpu: list[tuple[str, float]] = []

    def scrape_cpu(self, rows: Any, previous: float) -> None:
        """Take the mean CPU since the `previous` scrape, before new grants are made."""
        usage = self._usage
        seen = usage["started_at"][rows] <= previous
        cpu = usage["cpu_now"][rows]
        part = np.minimum(1.0, (self._world.now - usage["started_at"][rows])
                          / self._world.config.scrape_seconds)  # fmt: skip
        self._node_cpu = node_sums(usage.node[rows], cpu * part, self._nodes.count)
        old = rows[seen]
        uids = [usage.uids[row] for row in old.tolist()]
        self._cpu = list(zip(uids, usage["cpu_now"][old].tolist(), strict=True))

    def scrape_memory(self, rows: Any, previous: float) -> None:
        """Take the working sets of now, and publish the scrape."""
        del previous  # memory is a reading, not a rate
        usage, world = self._usage, self._world
        held = usage["memory_now"]
        self._node_memory = node_sums(usage.node[rows], held[rows], self._nodes.count)
        self._pods = {uid: (cpu, float(held[usage.row_of[uid]])) for uid, cpu in self._cpu}
        names = (node for node in self._nodes.names if world.up(node))
        self._answering = frozenset(names)
        self._scraped_at = world.now

    def node_metrics(self) -> list[Object]:
        """Return NodeMetrics by name: usage of nodes that answered the newest scrape."""
        if self._scraped_at is None:
            return []
        found = []
        for record in self._world.store.records("nodes"):
            row = self._nodes.row_of[record.name]
            if record.name not in self._answering or row >= len(self._node_cpu):
                continue
            usage = _usage(float(self._node_cpu[row]), float(self._node_memory[row]))
            metadata = {"name": record.name, "labels": record.labels}
            found.append({**self._head("NodeMetrics", metadata), "usage": usage})
        return found

    def pod_metrics(self, namespace: str | None = None) -> list[Object]:
        """Return PodMetrics by (namespace, name), of one namespace or of all."""
        found = []
        for record in self._world.store.records("pods", namespace):
            sample = self._pods.get(record.uid)
            assert isinstance(record, PodRecord)
            if sample is None or record.node_name not in self._answering:
                continue
            metadata = {"name": record.name, "namespace": record.namespace}
            names = record.shape.containers
            each = _usage(sample[0] / len(names), sample[1] / len(names))
            containers = [{"name": name, "usage": each} for name in names]
            head = self._head("PodMetrics", {**metadata, "labels": record.labels})
            found.append({**head, "containers": containers})
        return found

    def _head(self, kind: str, metadata: Object) -> Object:
        assert self._scraped_at is not None
        stamp = rfc3339(self._scraped_at)
        metadata["creationTimestamp"] = stamp
        return {
            "kind": kind,
            "apiVersion": API_VERSION,
            "metadata": metadata,
            "timestamp": stamp,
            "window": f"{self._world.config.scrape_seconds:g}s",
        }


def _usage(cpu_millicores: float, memory_bytes: float) -> dict[str, str]:
    """Return usage in Metrics Server's own units: nanocores and KiB."""
    return {"cpu": f"{int(cpu_millicores * 1e6)}n", "memory": f"{int(memory_bytes) // 1024}Ki"}
