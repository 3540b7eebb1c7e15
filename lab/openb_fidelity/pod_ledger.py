"""Books kept beside the twin: who holds what, who waits, and whether a waiting pod has room.

They follow the API's changes, not the scheduler's own tables, so they can prove it wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from twin.port.engine import Change
from twin.port.objects import APP, PodRecord
from twin.port.workloads import NodeShape

Amounts = tuple[int, int, int]
"""Millicores, bytes, GPUs."""
PODS_PER_NODE = 110


class PodLedger:
    """Follows pods through the API's changes."""

    def __init__(self, nodes: Sequence[NodeShape]) -> None:
        self._row = {node.name: row for row, node in enumerate(nodes)}
        offered = [(n.cpu_millicores, n.memory_bytes, n.gpus, PODS_PER_NODE) for n in nodes]
        self._free: npt.NDArray[np.int64] = np.array(offered, np.int64)
        self._held: dict[str, tuple[int, Amounts]] = {}
        self._waiting: dict[str, Amounts] = {}
        self.allocated = [0, 0, 0]
        self.waits: dict[str, float] = {}
        """Seconds from creation to binding, by arrival."""

    def follow(self, change: Change) -> None:
        """Take in one change."""
        pod = change.record
        if not isinstance(pod, PodRecord):
            return
        there = not pod.terminal and change.type != "DELETED"
        if there and pod.node_name:
            self._waiting.pop(pod.uid, None)
            self._hold(pod)
        elif there:
            self._waiting[pod.uid] = _amounts(pod)
        else:
            self._waiting.pop(pod.uid, None)
            self._release(pod.uid)

    def waiting_with_room(self) -> set[str]:
        """Pods that wait although an empty enough node is there, by uid."""
        fits = {amounts: self._fits(amounts) for amounts in set(self._waiting.values())}
        return {uid for uid, amounts in self._waiting.items() if fits[amounts]}

    def _fits(self, amounts: Amounts) -> bool:
        request = np.array((*amounts, 1), np.int64)
        return bool(np.any(np.all(self._free >= request, axis=1)))

    def _hold(self, pod: PodRecord) -> None:
        if pod.uid in self._held:
            return
        row, amounts = self._row[pod.node_name], _amounts(pod)
        self._held[pod.uid] = (row, amounts)
        self._add(row, amounts, 1)
        if pod.scheduled_at is not None:
            self.waits.setdefault(pod.labels[APP], pod.scheduled_at - pod.created_at)

    def _release(self, uid: str) -> None:
        if uid in self._held:
            row, amounts = self._held.pop(uid)
            self._add(row, amounts, -1)

    def _add(self, row: int, amounts: Amounts, sign: int) -> None:
        self._free[row] -= np.array((*amounts, 1), np.int64) * sign
        for index, amount in enumerate(amounts):
            self.allocated[index] += sign * amount


def _amounts(pod: PodRecord) -> Amounts:
    shape = pod.shape
    return (shape.cpu_request_millicores, shape.memory_request_bytes, shape.gpus)
