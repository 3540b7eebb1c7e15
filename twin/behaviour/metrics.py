"""Metrics Server: what `metrics.k8s.io` shows, one scrape behind and only for what was seen twice.

CPU is the mean over the scrape gap, memory the last working set. A new pod has no metric until its
second scrape; machines that do not answer have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twin.behaviour.node_table import Floats, Ints, NodeTable, node_sums
from twin.behaviour.usage_table import UsageTable
from twin.part import Part
from twin.records import Object, PodRecord
from twin.timestamps import rfc3339
from twin.world import World

API_VERSION = "metrics.k8s.io/v1beta1"


class Metrics(Part):
    """The newest scrape, rendered on demand."""

    KEEPS = (
        "_scraped_at",
        "_rows",
        "_uids",
        "_cpu",
        "_memory",
        "_node_cpu",
        "_node_memory",
        "_silent",
    )
    LEAVES = ("_by_uid",)

    def __init__(self, world: World, nodes: NodeTable, usage: UsageTable) -> None:
        self._world = world
        self._nodes = nodes
        self._usage = usage
        self._scraped_at: float | None = None
        self._rows: Ints = np.zeros(0, np.int64)  # of the usage table, seen twice by now
        self._uids: list[str] = []
        self._cpu: Floats = np.zeros(0)  # millicores of these pods
        self._memory: Floats = np.zeros(0)  # bytes
        self._by_uid: dict[str, tuple[float, float]] | None = None  # made when somebody asks
        self._node_cpu: Floats = np.zeros(0)
        self._node_memory: Floats = np.zeros(0)
        self._silent: frozenset[str] = frozenset()  # nodes that did not answer

    def scrape_cpu(self, rows: Any, previous: float) -> None:
        """Take the mean CPU since the `previous` scrape, before new grants are made."""
        usage = self._usage
        seen = usage["started_at"][rows] <= previous
        cpu = usage["cpu_now"][rows]
        part = np.minimum(1.0, (self._world.now - usage["started_at"][rows])
                          / self._world.config.scrape_seconds)  # fmt: skip
        self._node_cpu = node_sums(usage.node[rows], cpu * part, self._nodes.count)
        self._rows = rows[seen]
        self._cpu = cpu[seen]

    def scrape_memory(self, rows: Any, previous: float) -> None:
        """Take the working sets of now, and publish the scrape."""
        del previous  # memory is a reading, not a rate
        usage, held = self._usage, self._usage["memory_now"]
        self._node_memory = node_sums(usage.node[rows], held[rows], self._nodes.count)
        self._uids = list(map(usage.uids.__getitem__, self._rows.tolist()))
        self._memory = held[self._rows]
        self._by_uid = None
        self._silent = frozenset(self._world.down)
        self._scraped_at = self._world.now

    def node_metrics(self) -> list[Object]:
        """Return NodeMetrics by name: usage of nodes that answered the newest scrape."""
        if self._scraped_at is None:
            return []
        found = []
        for record in self._world.store.records("nodes"):
            row = self._nodes.row_of[record.name]
            if record.name in self._silent or row >= len(self._node_cpu):
                continue
            usage = _usage(float(self._node_cpu[row]), float(self._node_memory[row]))
            metadata = {"name": record.name, "labels": record.labels}
            found.append({**self._head("NodeMetrics", metadata), "usage": usage})
        return found

    def sample(self, uid: str) -> tuple[float, float, float] | None:
        """Return (millicores, bytes, unix seconds of the scrape) that a pod's metric shows."""
        found, pod = self._samples().get(uid), self._world.pods.get(uid)
        if found is None or self._scraped_at is None or pod is None:
            return None
        if not self._answered(pod.node_name):
            return None
        return (*found, self._scraped_at)

    def pod_metrics(self, namespace: str | None = None) -> list[Object]:
        """Return PodMetrics by (namespace, name), of one namespace or of all."""
        found, samples = [], self._samples()
        for record in self._world.store.records("pods", namespace):
            sample = samples.get(record.uid)
            assert isinstance(record, PodRecord)
            if sample is None or not self._answered(record.node_name):
                continue
            metadata = {"name": record.name, "namespace": record.namespace}
            names = record.shape.containers
            each = _usage(sample[0] / len(names), sample[1] / len(names))
            containers = [{"name": name, "usage": each} for name in names]
            head = self._head("PodMetrics", {**metadata, "labels": record.labels})
            found.append({**head, "containers": containers})
        return found

    def _samples(self) -> dict[str, tuple[float, float]]:
        """Return (millicores, bytes) by pod uid, as the newest scrape has them."""
        if self._by_uid is None:
            amounts = zip(self._cpu.tolist(), self._memory.tolist(), strict=True)
            self._by_uid = dict(zip(self._uids, amounts, strict=True))
        return self._by_uid

    def _answered(self, node_name: str) -> bool:
        return node_name not in self._silent and self._world.node(node_name) is not None

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
