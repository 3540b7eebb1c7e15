"""Measures a trial from the twin's truth, beside everything that Foresail sees or says.

Counts and waiting are exact; machines, power and requests are looked at once a minute of cluster time by an event
of the twin's own clock, so that nothing depends on who asks it when.
"""

from __future__ import annotations

import math
from collections import Counter

from lab.experiments.served import Served
from lab.experiments.waiting import Waiting
from twin.behaviour.pod_work import WORK_SECONDS
from twin.changes import Change
from twin.controllers.job_status import finish_time, is_finished, is_succeeded
from twin.engine import Engine
from twin.records import NodeRecord, ObjectRecord, PodRecord

LOOK_SECONDS = 60.0
LEAST_WORK_SECONDS = 10.0
"""Shorter Jobs count as so long in the slowdown, as usual for it (Feitelson et al., Theory and Practice in Parallel
Job Scheduling, JSSPP 1997: bounded slowdown with a threshold of 10 s)."""
_LOOK, _COUNT = "experiments.look", "experiments.count"
_HOUR = 3_600.0
_JOULES = 3.6e6
"""A kWh."""


class Truth:
    """What happened in one trial, counted from the end of its warm-up."""

    def __init__(self, engine: Engine, warm_up_seconds: float) -> None:
        """Watch an engine that has not begun to play; it is looked at from now on."""
        self._engine = engine
        self._waiting = Waiting(engine.now)
        self._served = Served()
        self._counts: Counter[str] = Counter()
        self._node_seconds = self._joules = 0.0
        self._job_seconds: list[float] = []
        self._slowdowns: list[float] = []
        self._looked_at = self._began = engine.now
        self._before = (
            0.0,
            0.0,
            0.0,
        )  # dollars, CPU-seconds done and lost at the end of the warm-up
        self._asleep: set[str] = set()
        engine.store.subscribe(self._follow)
        engine.clock.handle(_LOOK, self._look)
        engine.clock.handle(_COUNT, self._count_from_now)
        engine.clock.after(LOOK_SECONDS, _LOOK)
        engine.clock.after(warm_up_seconds, _COUNT)

    def metrics(self) -> dict[str, float]:
        """Return every metric that applies, as of now; see `metrics.METRICS` for units."""
        engine = self._engine
        self._read()
        self._waiting.advance(engine.now)
        dollars, done, lost = (
            after - before for after, before in zip(self._sums(), self._before, strict=True)
        )
        waiting, counts = self._waiting, self._counts
        values = {
            **self._served.metrics(),
            "cpu_seconds_done": done,
            "cpu_seconds_lost": lost,
            "waiting_pod_hours": waiting.waiting_seconds / _HOUR,
            "waiting_pods_most": float(waiting.most),
            "pending_clear_seconds": waiting.longest_seconds,
            "held_pod_hours": waiting.held_seconds / _HOUR,
            "replicas_removed_hours": waiting.removed_seconds / _HOUR,
            "node_hours": self._node_seconds / _HOUR,
            "energy_kwh": self._joules / _JOULES,
            "price_dollars": dollars,
            **{name: float(counts[name]) for name in ("evictions", "restarts", "activations")},
        }
        if counts["jobs"]:
            values["jobs_completed"] = float(counts["completed"])
            values["jobs_failed"] = float(counts["failed"])
        if self._job_seconds:
            values["job_seconds_mean"] = _mean(self._job_seconds)
        if self._slowdowns:
            values["job_slowdown_mean"] = _mean(self._slowdowns)
        return values

    def withheld_pod_hours(self) -> float:
        """Return replicas taken away, over time, that neither requests nor the outcome score account for."""
        self._waiting.advance(self._engine.now)
        return self._waiting.withheld_seconds / _HOUR

    # ---- what happens

    def _follow(self, change: Change) -> None:
        record, before = change.record, change.before
        if isinstance(record, PodRecord):
            self._waiting.follow(change, self._engine.now)
            if isinstance(before, PodRecord):
                self._counts["restarts"] += record.restart_count > before.restart_count
                self._counts["evictions"] += bool(record.disruption and not before.disruption)
        elif isinstance(record, NodeRecord):
            self._counts["activations"] += change.type == "ADDED" and self._engine.now > self._began
        elif change.resource in ("jobs", "deployments", "services"):
            self._waiting.follow(change, self._engine.now)
            if change.resource == "jobs" and isinstance(record, ObjectRecord):
                self._follow_job(change, record)

    def _follow_job(self, change: Change, job: ObjectRecord) -> None:
        if change.type == "ADDED":
            self._counts["jobs"] += 1
            return
        before = change.before
        status = job.body.get("status") or {}
        was_over = isinstance(before, ObjectRecord) and is_finished(before.body.get("status") or {})
        if change.type == "DELETED" or was_over or not is_finished(status):
            return
        if not is_succeeded(status):
            self._counts["failed"] += 1
            return
        self._counts["completed"] += 1
        end = finish_time(status)
        seconds = (self._engine.now if end is None else end) - job.created_at
        self._job_seconds.append(seconds)
        work = _work_seconds(job)
        if work is not None:
            self._slowdowns.append(max(1.0, seconds / max(LEAST_WORK_SECONDS, work)))

    # ---- how it is

    def _look(self) -> None:
        self._read()
        self._engine.clock.after(LOOK_SECONDS, _LOOK)

    def _read(self) -> None:
        """Add what passed since the last look, as if it had been all along as it is now."""
        engine = self._engine
        seconds, self._looked_at = engine.now - self._looked_at, engine.now
        if seconds <= 0.0:
            return
        asleep = set()
        for node in engine.store.records("nodes"):
            assert isinstance(node, NodeRecord)
            if not engine.world.up(node.name):
                continue
            self._joules += engine.power_watts(node.name) * seconds
            if engine.nodes.settings[engine.nodes.row_of[node.name]].asleep:
                asleep.add(node.name)
            else:
                self._node_seconds += seconds
        self._counts["activations"] += len(self._asleep - asleep)
        self._asleep = asleep
        self._served.look(engine.serving.accounts(), seconds)

    def _count_from_now(self) -> None:
        """End the warm-up."""
        self._read()
        self._waiting.advance(self._engine.now)
        self._waiting.reset(self._engine.now)
        self._served.reset()
        jobs = self._counts["jobs"]
        self._counts = Counter(jobs=jobs)  # one that came in the warm-up may end after it
        self._node_seconds = self._joules = 0.0
        self._job_seconds, self._slowdowns = [], []
        self._before = self._sums()

    def _sums(self) -> tuple[float, float, float]:
        work = self._engine.job_work.cpu_seconds
        return self._engine.cloud.cost_dollars(), work["in time"] + work["late"], work["lost"]


def _work_seconds(job: ObjectRecord) -> float | None:
    metadata = job.body["spec"]["template"].get("metadata") or {}
    try:
        return float((metadata.get("annotations") or {})[WORK_SECONDS])
    except (KeyError, ValueError):
        return None


def _mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)
