"""Plays a twin and samples what a person looks at: demand, capacity, latency, machines, and what went wrong."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable

import numpy as np

from foresail.day.day import (
    FAULTS,
    LEAKS,
    LEVELS,
    MARKS,
    NOT_READY,
    SAMPLES,
    SPOT_NOTICES,
    WEATHER,
    Day,
    Moment,
    Period,
    mean,
)
from projections.figures import number
from twin.port.engine import Change, Engine
from twin.port.files import Fault, Traffic
from twin.port.files import Weather as WeatherFault
from twin.port.latencies import SIZE, quantile
from twin.port.objects import TAINT, Kind, NodeRecord, ObjectRecord, PodRecord

LOOKS = 5
"""Within a sample: averages and peaks are taken over so many."""
MACHINE_TYPE = "node.kubernetes.io/instance-type"
_REASONS = {"SuccessfulRescale": "rescale", "ResizeCompleted": "resize"}
_ONE_AND_THE_SAME_SECONDS = 600.0
"""What happens to one thing again within so long is drawn as one."""


def play_day(engine: Engine, seconds: float, advance: Callable[[float], None]) -> Day:
    """Let `seconds` pass and return what there was to see; `advance` is called with the seconds played."""
    day = Day(engine.now, seconds)
    watcher = _Watcher(engine, day)
    stop = engine.store.subscribe(watcher.follow)
    engine.sky.heard = watcher.hear
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
    engine.sky.heard = None
    for span in day.spans:
        span.end = min(span.end, seconds)
    day.dollars = engine.cloud.cost_dollars()
    day.work_cpu_seconds = dict(engine.job_work.cpu_seconds)
    return day


class _Watcher:
    """Counts what happens between two moments."""

    def __init__(self, engine: Engine, day: Day) -> None:
        self._engine = engine
        self._day = day
        self._marks: Counter[str] = Counter()
        self._looks: list[tuple[float, float, float, int]] = []
        self._open: dict[tuple[str, str], Period] = {}
        self._weather: dict[tuple[str, str], Period] = {}  # the newest of each lane and thing
        self._requests = (0.0, 0.0, 0.0)  # so far: arrived, not served, time
        self._latencies = np.zeros(SIZE)

    # ---- what happens

    def hear(self, kind: Kind, name: str, seconds: float) -> None:
        """Take note of what the weather does."""
        lane, now = WEATHER[kind], self._now
        last = self._weather.get((lane, name))
        if seconds and last is not None and last.end + _ONE_AND_THE_SAME_SECONDS >= now:
            last.end = max(last.end, now + seconds)
            return
        span = self._weather[lane, name] = Period(lane, name, now, now + seconds)
        self._day.spans.append(span)

    @property
    def _now(self) -> float:
        return self._engine.now - self._day.start_time

    def follow(self, change: Change) -> None:
        """Take note of one change."""
        record, before = change.record, change.before
        if isinstance(record, PodRecord) and change.type == "DELETED":
            leak = self._weather.get((LEAKS, record.name))
            if leak is not None:
                leak.end = min(leak.end, self._now)
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
        there = change.type != "DELETED"
        self._set_span(NOT_READY, node.name, node.name, on=there and node.ready_status != "True")
        noticed = there and any(taint["key"] == TAINT for taint in node.taints)
        self._set_span(SPOT_NOTICES, node.name, node.name, on=noticed)

    def _set_span(self, lane: str, key_in_lane: str, name: str, *, on: bool) -> None:
        key, now = (lane, key_in_lane), self._now
        if on and key not in self._open:
            span = self._open[key] = Period(lane, name, now)
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
        running = {
            str(key): _fault_name(fault)
            for key, _, fault in engine.faults.running
            if not isinstance(fault, WeatherFault)  # it has a lane of its own
        }
        self._set_lane(FAULTS, running)
        level = engine.sky.level
        self._set_lane(LEVELS, {} if level == "off" else {level: level})

    def _set_lane(self, lane: str, running: dict[str, str]) -> None:
        """Let what runs now, by key, be what is open in a lane."""
        for one, key in list(self._open):
            if one == lane and key not in running:
                self._set_span(lane, key, "", on=False)
        for key, name in running.items():
            self._set_span(lane, key, name, on=True)

    def take_moment(self, at_seconds: float) -> Moment:
        """Return what there was since the last one, and begin anew."""
        looks, self._looks = self._looks, []
        marks, self._marks = self._marks, Counter()
        rate, p95, failed = self._read_requests()
        machines = Counter(_type_of(node) for node in self._ready_nodes())
        rented = self._engine.cloud.machines.values()
        return Moment(
            at_seconds=at_seconds,
            capacity_cores=mean([look[0] for look in looks]),
            requested_cores=mean([look[1] for look in looks]),
            used_cores=mean([look[2] for look in looks]),
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
        now = self._now
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


def _fault_name(fault: Fault) -> str:
    if isinstance(fault, Traffic):
        who = ", ".join(fault.services) or "requests"
        change = f"x {number(fault.factor)}" if not fault.traffic else fault.traffic.split()[0]
        return f"{who} {change}"
    return fault.fault.replace("_", " ")
