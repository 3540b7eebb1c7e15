"""Jobs onto nodes, one at a time: what SKRueue's offline simulator was for; and its three baselines."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from random import Random
from statistics import mean, pstdev

from lab.learning.jobs import Amounts, Job, State
from lab.learning.simulator import JobRecord

HOUR_SECONDS = 3_600.0
Choice = tuple[int, int]
"""A job's place in the queue, and a node."""
PlacementRule = Callable[["NodeCluster", int], Choice | None]
"""From a cluster and the number of slots to a placement; None: wait."""


class NodeCluster:
    """Nodes, a queue in order of arrival, and jobs that each run on one node."""

    def __init__(self, jobs: Sequence[Job], nodes: Sequence[Amounts]) -> None:
        """Begin at 0 s with empty nodes."""
        self.jobs, self.nodes = tuple(jobs), tuple(nodes)
        self.free = list(nodes)
        self.now = 0.0
        self.queue: list[int] = []
        self.records = [JobRecord() for _ in jobs]
        self._ends: list[tuple[float, int, int]] = []
        self._next = 0
        self.advance(0.0)

    def fits(self, index: int, node: int) -> bool:
        """Say whether a job's requests are free on a node."""
        return self.jobs[index].requests.fits(self.free[node])

    def place(self, choice: Choice) -> int | None:
        """Start a job on a node and return its index; None when it does not fit or is not there."""
        place, node = choice
        if place >= len(self.queue) or not self.fits(self.queue[place], node):
            return None
        index = self.queue.pop(place)
        record = self.records[index]
        record.state, record.start_seconds = State.RUNNING, self.now
        record.end_seconds = self.now + self.jobs[index].running_seconds
        insort(self._ends, (record.end_seconds, index, node))
        self.free[node] = self.free[node] - self.jobs[index].requests
        return index

    def advance(self, until_seconds: float) -> int:
        """Let time pass; return how many jobs failed in it."""
        failed = 0
        while self._ends and self._ends[0][0] <= until_seconds:
            _, index, node = self._ends.pop(0)
            self.records[index].state = self.jobs[index].end_state
            failed += self.records[index].state is State.FAILED
            self.free[node] = self.free[node] + self.jobs[index].requests
        self.now = until_seconds
        while self._next < len(self.jobs) and self.jobs[self._next].arrival_seconds <= self.now:
            self.records[self._next].state = State.PENDING
            self.queue.append(self._next)
            self._next += 1
        return failed

    def used_cpu(self, node: int) -> float:
        """Return the share of a node's cores that is requested; 0 of a node that is away."""
        whole = self.nodes[node].cpu_millicores
        return (whole - self.free[node].cpu_millicores) / whole if whole else 0.0

    def imbalance(self) -> float:
        """Return the standard deviation of these shares over the nodes that are there."""
        return pstdev(self.used_cpu(n) for n, node in enumerate(self.nodes) if node.cpu_millicores)

    def wait_seconds(self, index: int) -> float:
        """Return how long a job has waited, or waited before its start."""
        record = self.records[index]
        waits = record.state in (State.NOT_YET, State.PENDING)
        return max(
            0.0, (self.now if waits else record.start_seconds) - self.jobs[index].arrival_seconds
        )

    def figures(self) -> dict[str, float]:
        """Return what all arms are compared by: throughput an hour, mean wait of all jobs, and their success."""
        completed = sum(record.state is State.COMPLETED for record in self.records)
        waits = [self.wait_seconds(index) for index in range(self._next)]
        return {
            "completed_jobs_per_hour": completed / (self.now / HOUR_SECONDS) if self.now else 0.0,
            "mean_wait_seconds": mean(waits) if waits else 0.0,
            "success_ratio": completed / self._next if self._next else 0.0,
        }


def first_fit(cluster: NodeCluster, slots: int) -> Choice | None:
    """The oldest job that fits somewhere, on the first node that has room."""
    nodes = range(len(cluster.nodes))
    places = ((place, node) for place in range(min(slots, len(cluster.queue))) for node in nodes)
    return next((one for one in places if cluster.fits(cluster.queue[one[0]], one[1])), None)


def best_fit(cluster: NodeCluster, slots: int) -> Choice | None:
    """The oldest job that fits somewhere, on the node that it leaves with the fewest free cores."""
    for place, index in enumerate(cluster.queue[:slots]):
        fitting = [node for node in range(len(cluster.nodes)) if cluster.fits(index, node)]
        if fitting:
            return place, min(fitting, key=lambda node: (cluster.free[node].cpu_millicores, node))
    return None


def at_random(random: Random, cluster: NodeCluster, slots: int) -> Choice | None:
    """Any placement that fits."""
    fitting = [
        (place, node)
        for place, index in enumerate(cluster.queue[:slots])
        for node in range(len(cluster.nodes))
        if cluster.fits(index, node)
    ]
    return random.choice(fitting) if fitting else None
