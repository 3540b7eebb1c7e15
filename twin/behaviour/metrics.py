"""Metrics Server: what `metrics.k8s.io` shows, one scrape behind and only for what was seen twice.

CPU is the mean over the scrape gap, memory the last working set. A new pod has no metric until its
second scrape; machines that do not answer have none. Faults can take the numbers of nodes away,
leave them as they were, or stop the whole API (`impairments.py`).
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from twin.behaviour.impairments import Impairments
from twin.behaviour.stale_metrics import Sample, StaleMetrics
from twin.behaviour.usage_table import UsageTable
from twin.errors import ApiError
from twin.part import Part
from twin.records import Object, PodRecord
from twin.scheduling.node_table import Floats, Ints, NodeTable, node_sums
from twin.timestamps import rfc3339
from twin.world import World

API_VERSION = "metrics.k8s.io/v1beta1"


class Metrics(Part):
    """The newest scrape, rendered on demand."""

    KEEPS: ClassVar[tuple[str, ...]] = (
        "_scraped_at",
        "_rows",
        "_uids",
        "_cpu",
        "_memory",
        "_node_cpu",
        "_node_memory",
        "_silent",
    )
    LEAVES = ("_place_of", "_listed", "_turns")

    def __init__(
        self, world: World, nodes: NodeTable, usage: UsageTable, impairments: Impairments
    ) -> None:
        self._world = world
        self._impairments = impairments
        self._stale = StaleMetrics()
        self._window_seconds = world.config.scrape_seconds
        self._nodes = nodes
        self._usage = usage
        self._scraped_at: float | None = None
        self._rows: Ints = np.zeros(0, np.int64)  # of the usage table, seen twice by now
        self._uids: list[str] = []
        self._cpu: Floats = np.zeros(0)  # millicores of these pods
        self._memory: Floats = np.zeros(0)  # bytes
        self._place_of: dict[str, int] | None = None  # in `_uids`; made when somebody asks
        self._turns = -1  # of the usage table when `_uids` were read
        self._listed: Ints = np.zeros(0, np.int64)  # the rows that they were read for
        self._node_cpu: Floats = np.zeros(0)
        self._node_memory: Floats = np.zeros(0)
        self._silent: frozenset[str] = frozenset()  # nodes that did not answer

    def scrape_cpu(self, rows: Any, previous: float) -> None:
        """Take the mean CPU since the `previous` scrape, before new grants are made."""
        self._hold_stale()
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
        if self._turns != usage.turns or not np.array_equal(self._rows, self._listed):
            uids = usage.uids
            self._uids = [uids[row] for row in self._rows.tolist()]
            self._turns, self._listed, self._place_of = usage.turns, self._rows, None
        self._memory = held[self._rows]
        self._silent = frozenset(self._world.down) | self._impairments.unscraped
        self._scraped_at = self._world.now

    def node_metrics(self) -> list[Object]:
        """Return NodeMetrics by name: usage of nodes that answered the newest scrape."""
        self._check_answers()
        if self._scraped_at is None:
            return []
        items = []
        for record in self._world.store.records("nodes"):
            name, at = record.name, self._scraped_at
            if name in self._silent or self._nodes.row_of[name] >= len(self._node_cpu):
                continue
            sample = self._node_sample(name)
            if self._stale and (old := self._stale.node(name)):
                at, sample = old
            metadata = {"name": name, "labels": record.labels}
            head = self._head("NodeMetrics", metadata, at, name)
            items.append({**head, "usage": _usage(*sample)})
        return items

    def sample(self, uid: str) -> tuple[float, float, float] | None:
        """Return (millicores, bytes, unix seconds of the scrape) that a pod's metric shows."""
        pod = self._world.pods.get(uid)
        if pod is None or self._impairments.no_metrics:
            return None
        at, found = self._visible_sample(pod)
        return None if found is None else (*found, at)

    def pod_metrics(self, namespace: str | None = None) -> list[Object]:
        """Return PodMetrics by (namespace, name), of one namespace or of all."""
        self._check_answers()
        items = []
        for record in self._world.store.records("pods", namespace):
            assert isinstance(record, PodRecord)
            at, sample = self._visible_sample(record)
            if sample is None:
                continue
            metadata: Object = {"name": record.name, "namespace": record.namespace}
            names = record.shape.containers
            each = _usage(sample[0] / len(names), sample[1] / len(names))
            containers = [{"name": name, "usage": each} for name in names]
            metadata["labels"] = record.labels
            head = self._head("PodMetrics", metadata, at, record.node_name)
            items.append({**head, "containers": containers})
        return items

    def _visible_sample(self, pod: PodRecord) -> tuple[float, Sample | None]:
        """Return when a pod's sample was taken, and the sample; None when it has none."""
        if self._scraped_at is None or not self._node_answers(pod.node_name):
            return 0.0, None
        if self._stale and (old := self._stale.pod(pod.node_name, pod.uid)):
            return old
        return self._scraped_at, self._newest(pod.uid)

    def _hold_stale(self) -> None:
        """Keep the newest scrape of nodes whose metrics are to stay, before the next is taken."""
        if self._scraped_at is not None and (self._impairments.stale or self._stale):
            self._stale.hold(
                self._impairments.stale, self._scraped_at, self._node_sample, self._pod_samples
            )

    def _node_sample(self, name: str) -> Sample:
        row = self._nodes.row_of.get(name, len(self._node_cpu))
        if row >= len(self._node_cpu):
            return 0.0, 0.0
        return float(self._node_cpu[row]), float(self._node_memory[row])

    def _pod_samples(self, node: str) -> dict[str, Sample]:
        samples = ((uid, self._newest(uid)) for uid in self._world.pods_on.get(node, {}))
        return {uid: sample for uid, sample in samples if sample is not None}

    def _check_answers(self) -> None:
        """Raise ApiError 503 when Metrics Server does not answer."""
        if self._impairments.no_metrics:
            text = "the server is currently unable to handle the request"
            raise ApiError(503, "ServiceUnavailable", text)

    def _newest(self, uid: str) -> Sample | None:
        """Return what the newest scrape has of a pod."""
        if self._place_of is None:
            self._place_of = {uid: place for place, uid in enumerate(self._uids)}
        place = self._place_of.get(uid)
        return None if place is None else (float(self._cpu[place]), float(self._memory[place]))

    def _node_answers(self, node_name: str) -> bool:
        return node_name not in self._silent and self._world.node(node_name) is not None

    def _head(self, kind: str, metadata: Object, at: float, node: str) -> Object:
        stamp = rfc3339(at + self._impairments.skew_seconds.get(node, 0.0))
        metadata["creationTimestamp"] = stamp
        return {
            "kind": kind,
            "apiVersion": API_VERSION,
            "metadata": metadata,
            "timestamp": stamp,
            "window": f"{self._window_seconds:g}s",
        }


def _usage(cpu_millicores: float, memory_bytes: float) -> dict[str, str]:
    """Return usage in Metrics Server's own units: nanocores and KiB."""
    return {"cpu": f"{int(cpu_millicores * 1e6)}n", "memory": f"{int(memory_bytes) // 1024}Ki"}
