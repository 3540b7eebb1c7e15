"""Running pods as columns: what they want, what they get, and the work that is left."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from twin.behaviour.pod_work import PodWork
from twin.chance import key_of
from twin.part import Part
from twin.records import PodRecord

Floats = npt.NDArray[np.float64]
Heard = Callable[[str], None]
_COLUMNS = (
    "cpu_mean",  # millicores
    "cpu_limit",
    "memory_mean",  # bytes
    "memory_limit",
    "memory_request",
    "started_at",
    "work_left",  # seconds at full speed
    "worked",  # the same, done so far
    "window_ends",  # in seconds worked; inf: no further usage window
    "rate",  # seconds of work per second
    "cpu_now",  # what it gets since the last step
    "memory_now",
    "memory_wanted",
    "leak",  # bytes per second by which its memory grows
    "warm_seconds",  # after its start, until it wants no more CPU than when warm
    "share",  # CPU it got since the last step, of what it wanted
    "backlog",  # seconds of work that waits (`twin.health.probes`)
)
_QOS_RANK = {"BestEffort": 0, "Burstable": 1, "Guaranteed": 2}


class UsageTable(Part):
    """One row per running pod; a row is free again when the pod stops."""

    KEEPS = ("row_of", "uids", "_free", "active", "node", "qos", "key", "columns")
    LEAVES = ("turns",)

    def __init__(self) -> None:
        self.row_of: dict[str, int] = {}
        self.uids: list[str] = []
        self._free: list[int] = []
        self.active: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self.node: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.qos: npt.NDArray[np.int64] = np.zeros(0, np.int64)
        self.key: npt.NDArray[np.uint64] = np.zeros(0, np.uint64)  # of the uid, for draws
        self.columns: dict[str, Floats] = {name: np.zeros(0) for name in _COLUMNS}
        self.turns = 0
        """Counts how often a row has got another pod or none, for those who remember rows."""
        self.on_start: Heard = _ignore
        """Called with the uid of a pod that has just been entered."""
        self.on_stop: Heard = _ignore
        """Called with the uid of a pod that is about to be dropped."""

    def __getitem__(self, column: str) -> Floats:
        return self.columns[column]

    def add(self, pod: PodRecord, node_row: int, work: PodWork, now: float, rate: float) -> int:
        """Enter a pod that starts running now; returns its row."""
        if not self._free:
            self._grow()
        row = self._free.pop()
        self.turns += 1
        self.row_of[pod.uid] = row
        self.uids[row] = pod.uid
        self.active[row] = True
        self.node[row] = node_row
        self.qos[row] = _QOS_RANK[pod.shape.qos]
        self.key[row] = key_of(pod.uid)
        shape = pod.allocated
        cpu_limit, memory_limit = shape.cpu_limit_millicores, shape.memory_limit_bytes
        values = {
            "cpu_mean": work.cpu_mean_millicores,
            "cpu_limit": math.inf if cpu_limit is None else cpu_limit,
            "memory_mean": work.memory_mean_bytes,
            "memory_limit": math.inf if memory_limit is None else memory_limit,
            "memory_request": shape.memory_request_bytes,
            "started_at": now,
            "work_left": work.work_seconds,
            "window_ends": work.window_seconds,
            "rate": rate,
            "share": 1.0,
        }
        for name in _COLUMNS:
            self.columns[name][row] = values.get(name, 0.0)
        self.on_start(pod.uid)
        return row

    def drop(self, uid: str) -> None:
        """Take a pod out that no longer runs; nothing happens when it is not in."""
        if uid in self.row_of:
            self.on_stop(uid)
            row = self.row_of.pop(uid)
            self.turns += 1
            self.active[row] = False
            self.uids[row] = ""
            self._free.append(row)

    def rows(self) -> npt.NDArray[np.int64]:
        """Return the rows in use, in order."""
        return np.flatnonzero(self.active)

    def _grow(self) -> None:
        size = len(self.uids)
        added = max(256, size)
        self.uids.extend([""] * added)
        self._free = list(range(size + added - 1, size - 1, -1))
        self.active = np.pad(self.active, (0, added))
        self.node = np.pad(self.node, (0, added))
        self.qos = np.pad(self.qos, (0, added))
        self.key = np.pad(self.key, (0, added))
        for name in _COLUMNS:
            self.columns[name] = np.pad(self.columns[name], (0, added))


def _ignore(uid: str) -> None:
    del uid
