"""Nodes as columns: what each offers, what is requested of it, and how it is set.

Rows are never reused for another name, so a row number stays valid for a run.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from twin.behaviour.node_settings import NodeSettings, read_settings
from twin.changes import Change
from twin.part import Part
from twin.records import NodeRecord, PodRecord

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
RESOURCES = ("cpu", "memory", "gpu", "pods")
_NONZERO_CPU_MILLICORES = 100  # what scoring assumes for a pod without requests
_NONZERO_MEMORY_BYTES = 200 * 2**20


class NodeTable(Part):
    """Columns by node row; `free` and `offered` have one row per RESOURCES entry."""

    KEEPS = (
        "names",
        "row_of",
        "count",
        "settings",
        "generation",
        "_looks",
        "_size",
        "offered",
        "free",
        "scored",
        "present",
        "_counted",
    )

    def __init__(self) -> None:
        self.names: list[str] = []
        self.row_of: dict[str, int] = {}
        self.count = 0
        self.settings: list[NodeSettings] = []
        self.generation = 0  # raised when labels, taints, amounts or readiness change
        self._looks: list[object] = []  # by row: what placement depends on, as last seen
        self._size = 0
        self.offered: Ints = np.zeros((4, 0), np.int64)
        self.free: Ints = np.zeros((4, 0), np.int64)
        self.scored: Ints = np.zeros((2, 0), np.int64)  # requested cpu, memory as scoring counts
        self.present: Flags = np.zeros(0, np.bool_)
        self._counted: dict[str, tuple[int, PodRecord]] = {}  # by pod uid

    def follow(self, change: Change) -> None:
        """Take in one change of a node or pod."""
        record = change.record
        if isinstance(record, NodeRecord):
            self._follow_node(record, gone=change.type == "DELETED")
        elif isinstance(record, PodRecord):
            holds = change.type != "DELETED" and bool(record.node_name) and not record.terminal
            self._follow_pod(record, holds)

    def _follow_node(self, node: NodeRecord, *, gone: bool) -> None:
        row = self.row_of.get(node.name)
        if row is None:
            row = self._new_row(node.name)
        amounts = (
            node.allocatable_cpu_millicores,
            node.allocatable_memory_bytes,
            node.gpus,
            node.allocatable_pods,
        )
        for index, amount in enumerate(amounts):
            self.free[index, row] += amount - self.offered[index, row]
            self.offered[index, row] = amount
        self.present[row] = not gone
        self.settings[row] = read_settings(node.annotations)
        looks = (gone, node.labels, node.taints, node.unschedulable, node.ready_status, amounts)
        if looks != self._looks[row]:
            self._looks[row] = looks
            self.generation += 1

    def _new_row(self, name: str) -> int:
        row = self.count
        if row == self._size:
            self._grow(max(64, 2 * self._size))
        self.count += 1
        self.names.append(name)
        self.row_of[name] = row
        self.settings.append(NodeSettings())
        self._looks.append(None)
        return row

    def _grow(self, size: int) -> None:
        added = size - self._size
        self.offered = np.pad(self.offered, ((0, 0), (0, added)))
        self.free = np.pad(self.free, ((0, 0), (0, added)))
        self.scored = np.pad(self.scored, ((0, 0), (0, added)))
        self.present = np.pad(self.present, (0, added))
        self._size = size

    def _follow_pod(self, pod: PodRecord, holds: bool) -> None:
        counted = self._counted.get(pod.uid)
        if holds and counted is None:
            row = self.row_of.get(pod.node_name)
            if row is None:  # bound by hand to a node that does not exist
                return
            self._counted[pod.uid] = (row, pod)
            self._add(row, pod, 1)
        elif not holds and counted is not None:
            del self._counted[pod.uid]
            self._add(counted[0], counted[1], -1)

    def _add(self, row: int, pod: PodRecord, sign: int) -> None:
        shape = pod.shape
        amounts = (shape.cpu_request_millicores, shape.memory_request_bytes, shape.gpus, 1)
        for index, amount in enumerate(amounts):
            self.free[index, row] -= sign * amount
        cpu = shape.cpu_request_millicores or _NONZERO_CPU_MILLICORES
        memory = shape.memory_request_bytes or _NONZERO_MEMORY_BYTES
        self.scored[0, row] += sign * cpu
        self.scored[1, row] += sign * memory


def node_sums(rows: Ints, values: Floats, count: int) -> Floats:
    """Return the sum of `values` per node row, added in order, for rows 0 to `count` - 1."""
    return np.bincount(rows, weights=values, minlength=count).astype(np.float64)
