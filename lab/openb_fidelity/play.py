"""Play arrivals in the twin and compare, on the way, what is allocated with what should be there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate

from lab.openb_fidelity.pod_ledger import Amounts, PodLedger
from twin.port.engine import Engine
from twin.port.settings import TwinConfig
from twin.port.workloads import NodeShape, WorkloadArrival

RESOURCES = ("cpu", "memory", "gpu")
SETTLED_SECONDS = 15.0
"""A sample is taken so long after each arrival, when what had to happen has happened; it is longer
than the scheduler's longest back-off.
"""
GRID_POINTS = 2_000
STEP_SECONDS = 300.0
"""Usage and contention are stepped this coarsely here: they do not change where a pod goes."""


@dataclass(frozen=True, slots=True)
class CapacitySample:
    """Shares of capacity at one moment, by resource, 0..1."""

    seconds: float
    live: tuple[float, ...]
    """Requests of all pods that should be there: arrived, and their duration not over."""
    allocated: tuple[float, ...]
    """Requests of the pods that hold a node in the twin."""


@dataclass(slots=True)
class Played:
    """What came out of one play."""

    samples: list[CapacitySample] = field(default_factory=list)
    waits: dict[str, float] = field(default_factory=dict)
    """Seconds from creation to binding, by arrival."""
    overlooked: int = 0
    """Pods that waited longer than a back-off although a node had room for them."""
    events: int = 0


def play(
    nodes: Sequence[NodeShape], arrivals: Sequence[WorkloadArrival], seed: int, until: float
) -> Played:
    """Play `arrivals` (in order of time) for `until` seconds and sample on the way."""
    config = TwinConfig(scrape_seconds=STEP_SECONDS)
    engine = Engine(config, seed)
    books = PodLedger(nodes)
    engine.store.subscribe(books.follow)
    engine.add_nodes(nodes)
    engine.load(iter(arrivals))
    capacity, live = capacity_of(nodes), LiveRequests(arrivals)
    samples: list[CapacitySample] = []
    before: set[str] = set()
    overlooked: set[str] = set()
    last_look = 0.0
    for seconds in sample_times(arrivals, until):
        engine.advance(config.start_time + seconds)
        here, there = shares(live.at(seconds), capacity), shares(books.allocated, capacity)
        samples.append(CapacitySample(seconds, here, there))
        if seconds - last_look >= SETTLED_SECONDS:
            now = books.waiting_with_room()
            overlooked |= now & before
            before, last_look = now, seconds
    return Played(samples, books.waits, len(overlooked), engine.clock.handled)


def capacity_of(nodes: Sequence[NodeShape]) -> Amounts:
    """Sum of what the nodes offer."""
    return (
        sum(node.cpu_millicores for node in nodes),
        sum(node.memory_bytes for node in nodes),
        sum(node.gpus for node in nodes),
    )


def shares(amounts: Sequence[int], capacity: Amounts) -> tuple[float, ...]:
    """Amounts over capacity, by resource; 0 of a resource that no node has."""
    return tuple(
        amount / whole if whole else 0.0 for amount, whole in zip(amounts, capacity, strict=True)
    )


def sample_times(arrivals: Sequence[WorkloadArrival], until: float) -> list[float]:
    """A moment after each arrival, and an even grid, to `until`."""
    grid = [until * step / GRID_POINTS for step in range(1, GRID_POINTS + 1)]
    settled = [entry.time_seconds + SETTLED_SECONDS for entry in arrivals]
    return sorted({round(seconds, 3) for seconds in (*grid, *settled) if seconds <= until})


class LiveRequests:
    """Requests of all pods that are there when nobody ever waits, at any time."""

    def __init__(self, arrivals: Sequence[WorkloadArrival]) -> None:
        changes: list[tuple[float, int, Amounts]] = []
        for entry in arrivals:
            amounts = (entry.cpu_request_millicores, entry.memory_request_bytes, entry.gpus)
            changes.append((entry.time_seconds, 1, amounts))
            if entry.duration_seconds is not None:
                changes.append((entry.time_seconds + entry.duration_seconds, -1, amounts))
        changes.sort()
        self._times = [time for time, _, _ in changes]
        self._sums = [
            list(accumulate(sign * amounts[index] for _, sign, amounts in changes))
            for index in range(len(RESOURCES))
        ]

    def at(self, seconds: float) -> Amounts:
        """Sums at `seconds`, arrivals and departures of that moment included."""
        count = bisect_right(self._times, seconds)
        if not count:
            return (0, 0, 0)
        cpu, memory, gpus = (sums[count - 1] for sums in self._sums)
        return (cpu, memory, gpus)


def denser(
    arrivals: Sequence[WorkloadArrival], factor: float, copies: int
) -> list[WorkloadArrival]:
    """The same arrivals in the same order, each `copies` times, `factor` times as close together;
    durations stay.
    """
    return [
        replace(
            entry, time_seconds=round(entry.time_seconds / factor, 6), name=f"{entry.name}-{copy}"
        )
        for entry in arrivals
        for copy in range(copies)
    ]
