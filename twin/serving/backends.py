"""The pods behind one Service: their requests, and what came of these since their containers started.

Pods at rest that are alike are worked out together; one with a backlog, and every pod in exact mode, has a
queue of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from twin.part import keepable
from twin.serving.aggregate import AggregateQueue
from twin.serving.exact import ExactQueue
from twin.serving.latency import BOUNDS, PROMETHEUS_BUCKETS, SIZE

Floats = npt.NDArray[np.float64]
BUCKET_PLACES = np.searchsorted(BOUNDS, np.array(PROMETHEUS_BUCKETS))
_COLUMNS = (
    "routed",  # 1 when requests go to it
    "workers",
    "present",  # requests in it
    "arrived",
    "served",
    "failed",  # its client gave up
    "latency_seconds",  # sum of the served
    "marked",  # ended at the last step
    "rate",  # ended requests per second, between the last two steps
)
_BUCKETS = len(PROMETHEUS_BUCKETS)


@keepable
@dataclass(slots=True, eq=False)
class Account:
    """Outcome of all requests of a Service; each has ended once or is present in a pod."""

    arrived: float = 0.0
    served: float = 0.0
    timed_out: float = 0.0
    """Failed: the client gave up before a worker began."""
    refused: float = 0.0
    """Failed: no pod was ready, or the container did not run."""
    lost: float = 0.0
    """They were in a pod when its container or machine ended, or went to a machine that was dead."""
    latency_seconds: float = 0.0
    present_seconds: float = 0.0
    latencies: Floats = field(default_factory=lambda: np.zeros(SIZE))
    """Served requests by bucket of `latency.BOUNDS`."""


@keepable
@dataclass(slots=True, eq=False)
class Backends:
    """The pods of one Service whose containers run, as columns."""

    now: float
    account: Account = field(default_factory=Account)
    uids: list[str] = field(default_factory=list)
    columns: dict[str, Floats] = field(
        default_factory=lambda: {name: np.zeros(0) for name in _COLUMNS}
    )
    buckets: Floats = field(default_factory=lambda: np.zeros(0))
    """Served requests of each pod within each of PROMETHEUS_BUCKETS, cumulative, pod after pod."""
    queues: dict[str, AggregateQueue | ExactQueue] = field(default_factory=dict)
    """By pod; in aggregate mode only of pods that are not at rest."""

    def __getitem__(self, column: str) -> Floats:
        return self.columns[column]

    def add(self, uid: str, workers: int) -> None:
        """Enter a pod without requests."""
        self.uids.append(uid)
        for name, column in self.columns.items():
            self.columns[name] = np.append(column, float(workers) if name == "workers" else 0.0)
        self.buckets = np.append(self.buckets, np.zeros(_BUCKETS))

    def remove(self, uid: str) -> float:
        """Take a pod out; return how many requests were in it."""
        place = self.uids.index(uid)
        present = float(self["present"][place])
        del self.uids[place]
        self.queues.pop(uid, None)
        for name, column in self.columns.items():
            self.columns[name] = np.delete(column, place)
        self.buckets = np.delete(self.buckets, np.s_[place * _BUCKETS : (place + 1) * _BUCKETS])
        return present

    def route(self, uids: Mapping[str, None]) -> None:
        """Let requests go to these pods alone."""
        self.columns["routed"] = np.array([float(uid in uids) for uid in self.uids])

    def add_served(self, places: npt.NDArray[np.int64], served: Floats, below: Floats) -> None:
        """Add served requests of pods whose latencies are distributed as `below` says at BOUNDS."""
        table = self.buckets.reshape(-1, _BUCKETS)
        table[places] += served[:, None] * below[BUCKET_PLACES]

    def mark(self, seconds: float) -> None:
        """Take the rate of the step that ends now."""
        ended = self["served"] + self["failed"]
        self.columns["rate"] = (ended - self["marked"]) / seconds
        self.columns["marked"] = ended

    def pod_buckets(self) -> Iterator[tuple[str, list[float]]]:
        """Yield the served requests within each of PROMETHEUS_BUCKETS of each pod."""
        rows = self.buckets.reshape(-1, _BUCKETS).tolist()
        yield from zip(self.uids, rows, strict=True)
