"""Measures a trial from the twin's truth, beside everything that Foresail sees or says.

Counts and waiting are exact; machines, power and requests are looked at once a minute of cluster time by an event
of the twin's own clock, so that nothing depends on who asks it when.
"""

from __future__ import annotations

import math
from collections import Counter

from lab.experiments.payers import payer_of
from lab.experiments.pressure_samples import PressureSamples
from lab.experiments.recovery import OWNERS, Recovery
from lab.experiments.results import Burden
from lab.experiments.served import ServedRequests
from lab.experiments.sizes import PodSizes
from lab.experiments.waiting import Waiting
from twin.port.engine import Change, Engine
from twin.port.objects import (
    WORK_SECONDS,
    NodeRecord,
    ObjectRecord,
    PodRecord,
    finish_time,
    is_finished,
    is_succeeded,
)

LOOK_SECONDS = 60.0
LEAST_WORK_SECONDS = 10.0
"""Shorter Jobs count as so long in the slowdown, as usual for it (Feitelson et al., Theory and Practice in Parallel
Job Scheduling, JSSPP 1997: bounded slowdown with a threshold of 10 s)."""
COUNTED = ("evictions", "restarts", "activations", "replicas_changed")
_LOOK, _COUNT = "experiments.look", "experiments.count"
_HOUR = 3_600.0
_JOULES = 3.6e6
"""A kWh."""


class GroundTruth:
    """Ground truth of one trial, counted from the end of its warm-up."""

    def __init__(self, engine: Engine, warm_up_seconds: float) -> None:
        """Watch an engine that has not begun to play; it is looked at from now on."""
        self._engine = engine
        self._waiting = Waiting(engine.now)
        self._recovery = Recovery(engine.now)
        self._pressure = PressureSamples(engine.now)
        self._served = ServedRequests()
        self._sizes = PodSizes()
        self._counts: Counter[str] = Counter()
        self._node_seconds = self._joules = 0.0
        self._job_seconds: list[float] = []
        self._slowdowns: list[float] = []
        self._activation_seconds: list[float] = []
        self._looked_at = self._began = engine.now
        self._before = (
            0.0,
            0.0,
            0.0,
        )  # dollars, CPU-seconds done and lost at the end of the warm-up
        self._asleep: set[str] = set()
        self._ready_once: set[str] = set()  # rented machines, by uid of their node
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
            **self._sizes.metrics(),
            **self._recovery.metrics(engine.now),
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
            **{name: float(counts[name]) for name in COUNTED},
        }
        if counts["jobs"]:
            values["jobs_completed"] = float(counts["completed"])
            values["jobs_failed"] = float(counts["failed"])
            values["jobs_dropped"] = float(counts["dropped"])
        if self._job_seconds:
            values["job_seconds_mean"] = _mean(self._job_seconds)
        if self._slowdowns:
            values["job_slowdown_mean"] = _mean(self._slowdowns)
        if self._activation_seconds:
            values["activation_seconds_mean"] = _mean(self._activation_seconds)
        return values

    def withheld_pod_hours(self) -> float:
        """Return replicas taken away, over time, that neither requests nor the outcome score account for."""
        self._waiting.advance(self._engine.now)
        return self._waiting.withheld_seconds / _HOUR

    def pressure(self) -> tuple[tuple[float, float], ...]:
        """Return the mean pods without a node over time; see `TrialResult.pressure`."""
        return self._pressure.points()

    def payers(self) -> dict[str, Burden]:
        """Return what each payer bore."""
        return self._waiting.payers.burdens(self._engine.now)

    # ---- what happens

    def _follow(self, change: Change) -> None:
        record, now = change.record, self._engine.now
        if isinstance(record, PodRecord):
            self._waiting.follow(change, now)
            self._recovery.follow(change, now)
            if isinstance(change.before, PodRecord):
                self._follow_pod(record, change.before)
        elif isinstance(record, NodeRecord):
            self._follow_node(change, record)
        elif isinstance(record, ObjectRecord):
            if change.resource in OWNERS:
                self._recovery.follow(change, now)
            if change.resource in ("jobs", "deployments", "services"):
                self._waiting.follow(change, now)
            if change.resource == "jobs":
                self._follow_job(change, record)
            elif change.resource == "deployments":
                self._follow_deployment(change, record)

    def _follow_pod(self, pod: PodRecord, before: PodRecord) -> None:
        self._counts["restarts"] += pod.restart_count > before.restart_count
        self._sizes.follow(pod, before)
        if pod.disruption and not before.disruption:
            self._counts["evictions"] += 1
            self._waiting.payers.count(payer_of(pod, "pods"), "evictions")

    def _follow_node(self, change: Change, node: NodeRecord) -> None:
        now, before = self._engine.now, change.before
        self._counts["activations"] += change.type == "ADDED" and now > self._began
        was_ready = isinstance(before, NodeRecord) and before.ready_status == "True"
        machine = self._engine.cloud.machines.get(node.name)
        if machine is not None and node.ready_status == "True" and not was_ready:
            if node.uid not in self._ready_once and machine.ordered_at > self._began:
                self._activation_seconds.append(now - machine.ordered_at)
            self._ready_once.add(node.uid)

    def _follow_deployment(self, change: Change, deployment: ObjectRecord) -> None:
        if change.type == "MODIFIED" and isinstance(change.before, ObjectRecord):
            replicas = (
                int(one.body["spec"].get("replicas", 1)) for one in (deployment, change.before)
            )
            after, before = replicas
            self._counts["replicas_changed"] += abs(after - before)

    def _follow_job(self, change: Change, job: ObjectRecord) -> None:
        if change.type == "ADDED":
            self._counts["jobs"] += 1
            return
        before = change.before
        status = job.body.get("status") or {}
        was_over = isinstance(before, ObjectRecord) and is_finished(before.body.get("status") or {})
        if was_over:
            return
        if change.type == "DELETED":
            self._counts["dropped"] += 1
            self._waiting.payers.count(payer_of(job, "jobs"), "jobs_dropped")
        if change.type == "DELETED" or not is_finished(status):
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
        self._waiting.advance(self._engine.now)
        self._pressure.sample(self._engine.now, self._waiting.waiting_seconds)
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
        self._sizes.look(engine, seconds)

    def _count_from_now(self) -> None:
        """End the warm-up."""
        self._read()
        self._waiting.advance(self._engine.now)
        self._waiting.reset(self._engine.now)
        self._recovery.reset(self._engine.now)
        self._pressure.reset(self._engine.now)
        self._served.reset()
        self._sizes = PodSizes()
        jobs = self._counts["jobs"]
        self._counts = Counter(jobs=jobs)  # one that came in the warm-up may end after it
        self._node_seconds = self._joules = 0.0
        self._job_seconds, self._slowdowns, self._activation_seconds = [], [], []
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
