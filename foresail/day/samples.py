"""Plays a twin and samples what a person looks at: demand, capacity, latency, machines, and what went wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from twin.changes import Change
from twin.engine import Engine
from twin.records import NodeRecord, ObjectRecord, PodRecord
from twin.serving.latency import SIZE, quantile

SAMPLES = 288
"""Of a day: one in five minutes."""
LOOKS = 5
"""Within a sample: averages and peaks are taken over so many."""
MACHINE_TYPE = "node.kubernetes.io/instance-type"
MARKS = {
    "evicted": "pods evicted",
    "oom": "out of memory",
    "restart": "containers restarted",
    "rescale": "replicas scaled",
    "resize": "pods resized",
    "added": "machines added",
    "removed": "machines removed",
}
"""What happens at a moment, and its name in the picture, in order."""
_REASONS = {"SuccessfulRescale": "rescale", "ResizeCompleted": "resize"}


@dataclass(frozen=True, slots=True)
class Moment:
    """Means over one sample, unless they say otherwise."""

    at_seconds: float
    """Its end, since the start of the play."""
    capacity_cores: float
    """Allocatable CPU of ready nodes."""
    requested_cores: float
    """Of bound pods that have not ended."""
    used_cores: float
    pending: int
    """Pods without a node, the most of the sample."""
    machines: dict[str, int]
    """Ready nodes by type."""
    dollars_per_hour: float
    requests_per_second: float
    latency_p95_seconds: float
    """Of all Services together; NaN while nothing is served."""
    failed_ratio: float
    """Of the requests that came: failed or lost."""
    marks: dict[str, int]
    """How often each of MARKS happened in it."""


@dataclass(slots=True)
class Span:
    """Something that lasted; times are seconds since the start."""

    lane: str
    name: str
    begin: float
    end: float = math.inf


@dataclass(slots=True)
class Day:
    """What a play showed."""

    start_time: float
    """Unix seconds."""
    seconds: float
    moments: list[Moment] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    dollars: float = 0.0

    @property
    def serves(self) -> bool:
        """True when there were requests."""
        return any(moment.requests_per_second > 0.0 for moment in self.moments)

    @property
    def rents(self) -> bool:
        """True when a machine cost something."""
        return any(moment.dollars_per_hour > 0.0 for moment in self.moments)

    def count(self, mark: str) -> int:
        """Return how often something happened."""
        return sum(moment.marks.get(mark, 0) for moment in self.moments)


def play_day(engine: Engine, seconds: float, advance: Callable[[float], None]) -> Day:
    """Let `seconds` pass and return what there was to see; `advance` is told the seconds played."""
    day = Day(engine.now, seconds)
    watcher = _Watcher(engine, day)
    stop = engine.store.subscribe(watcher.follow)
    step = max(engine.config.scrape_seconds, seconds / SAMPLES)
    played = 0.0
    while played < seconds - 1e-6:
        length = min(step, seconds - played)
        for _ in range(LOOKS):
            engine.advance(engine.now + length / LOOKS)
            watcher.look()
        played += length
        day.moments.append(watcher.take_moment(played))
        advance(played)
    stop()
    for span in day.spans:
        span.end = min(span.end, seconds)
    day.dollars = engine.cloud.cost_dollars()
    return day


class _Watcher:
    """Counts what happens between two moments."""

    def __init__(self, engine: Engine, day: Day) -> None:
        self._engine = engine
        self._day = day
        self._marks: Counter[str] = Counter()
        self._looks: list[tuple[float, float, float, int]] = []
        self._open: dict[tuple[str, str], Span] = {}
        self._requests = (0.0, 0.0, 0.0)  # so far: arrived, not served, time
        self._latencies = np.zeros(SIZE)

    # ---- what happens

    def follow(self, change: Change) -> None:
        """Take note of one change."""
        record, before = change.record, change.before
        if isinstance(record, PodRecord) and isinstance(before, PodRecord):
            self._marks["restart"] += record.restart_count > before.restart_count
            self._marks["evicted"] += bool(record.disruption and not before.disruption)
            ended = record.ended
            killed = ended is not None and ended is not before.ended
            self._marks["oom"] += bool(killed and ended and ended.reason == "OOMKilled")
        elif isinstance(record, NodeRecord):
            self._follow_node(change, record)
        elif change.resource == "events" and isinstance(record, ObjectRecord):
            mark = _REASONS.get(record.body["reason"])
            if mark is not None and change.type != "DELETED":
                self._marks[mark] += 1

    def _follow_node(self, change: Change, node: NodeRecord) -> None:
        self._marks["added"] += change.type == "ADDED"
        self._marks["removed"] += change.type == "DELETED"
        failed = change.type != "DELETED" and node.ready_status != "True"
        self._set_span("nodes not ready", node.name, node.name, on=failed)

    def _set_span(self, lane: str, key_in_lane: str, name: str, *, on: bool) -> None:
        key, now = (lane, key_in_lane), self._engine.now - self._day.start_time
        if on and key not in self._open:
            span = self._open[key] = Span(lane, name, now)
            self._day.spans.append(span)
        elif not on and key in self._open:
            self._open.pop(key).end = now

    # ---- how it is

    def look(self) -> None:
        """Read the amounts of this moment."""
        engine = self._engine
        capacity = math.fsum(node.allocatable_cpu_millicores for node in self._ready_nodes())
        pods = [pod for pod in engine.world.pods.values() if not pod.terminal]
        requested = math.fsum(pod.shape.cpu_request_millicores for pod in pods if pod.node_name)
        pending = sum(not pod.node_name for pod in pods)
        used = math.fsum(engine.usage["cpu_now"][engine.usage.rows()].tolist())
        self._looks.append((capacity / 1_000.0, requested / 1_000.0, used / 1_000.0, pending))
        running = {str(number): fault.fault for number, _, fault in engine.faults.running}
        for lane, number in list(self._open):
            if lane == "faults played" and number not in running:
                self._set_span(lane, number, "", on=False)
        for number, name in running.items():
            self._set_span("faults played", number, name.replace("_", " "), on=True)

    def take_moment(self, at_seconds: float) -> Moment:
        """Return what there was since the last one, and begin anew."""
        looks, self._looks = self._looks, []
        marks, self._marks = self._marks, Counter()
        rate, p95, failed = self._read_requests()
        machines = Counter(_type_of(node) for node in self._ready_nodes())
        rented = self._engine.cloud.machines.values()
        return Moment(
            at_seconds=at_seconds,
            capacity_cores=_mean([look[0] for look in looks]),
            requested_cores=_mean([look[1] for look in looks]),
            used_cores=_mean([look[2] for look in looks]),
            pending=max(look[3] for look in looks),
            machines=dict(sorted(machines.items())),
            dollars_per_hour=math.fsum(entry.price_per_hour for entry in rented if entry.booted),
            requests_per_second=rate,
            latency_p95_seconds=p95,
            failed_ratio=failed,
            marks={name: marks[name] for name in MARKS if marks[name]},
        )

    def _read_requests(self) -> tuple[float, float, float]:
        """Return requests per second, p95 and the failed share since the last call."""
        accounts = self._engine.serving.accounts().values()
        arrived = math.fsum(entry.arrived for entry in accounts)
        failed = math.fsum(entry.timed_out + entry.refused + entry.lost for entry in accounts)
        latencies = np.zeros(SIZE)
        for entry in accounts:
            latencies = latencies + entry.latencies
        now = self._engine.now - self._day.start_time
        was_arrived, was_failed, was = self._requests
        fresh, self._latencies = latencies - self._latencies, latencies
        self._requests = (arrived, failed, now)
        came = max(0.0, arrived - was_arrived)
        rate = came / (now - was) if now > was else 0.0
        ratio = max(0.0, failed - was_failed) / came if came else 0.0
        return rate, quantile(fresh, 0.95), ratio

    def _ready_nodes(self) -> list[NodeRecord]:
        return [
            node
            for node in self._engine.store.records("nodes")
            if isinstance(node, NodeRecord) and node.ready_status == "True"
        ]


def _type_of(node: NodeRecord) -> str:
    cores = node.allocatable_cpu_millicores // 1_000
    return node.labels.get(MACHINE_TYPE) or f"{cores} cores"


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)
