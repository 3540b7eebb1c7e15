"""Runs Kueue: what changed is noted and looked at a moment later, Jobs first, then Workloads, then the queues."""

from __future__ import annotations

from collections.abc import Iterable

from twin.changes import Change
from twin.kueue.admitting import Admitting, is_queued
from twin.kueue.client import KueueClient
from twin.kueue.definitions import install
from twin.kueue.jobs import Jobs
from twin.kueue.lifecycle import Lifecycle
from twin.kueue.objects import (
    CLASSES,
    CLUSTER_QUEUES,
    GROUP,
    LOCAL_QUEUES,
    WORKLOADS,
    condition,
    is_reserving,
    is_true,
)
from twin.kueue.snapshot import Queue
from twin.kueue.statuses import write_statuses
from twin.kueue.webhooks import Webhooks
from twin.part import Part
from twin.records import ObjectRecord
from twin.world import World

DELAY_SECONDS = 0.05
"""Latency of a controller's watch, as of the controller manager's."""
_RUN, _WAKE = "kueue.run", "kueue.wake"
Key = tuple[str, str]
_ELSEWHERE = frozenset({"namespaces", "limitranges"})
"""Other kinds on which admission depends."""


class Kueue(Part):
    """All of Kueue in one world."""

    KEEPS = ("_jobs", "_workloads", "_queues", "_planned", "_wakes")

    def __init__(self, world: World) -> None:
        """Begin with nothing to look at."""
        self._world = world
        self._client = client = KueueClient(world)
        self._lifecycle = Lifecycle(client, self._wake_at)
        self._job_control = Jobs(client)
        self.admitting = Admitting(client, self._lifecycle)
        self._jobs: dict[Key, None] = {}
        self._workloads: dict[Key, None] = {}
        self._queues = False
        self._planned = False
        self._wakes: dict[Key, float] = {}
        world.store.gates.append(Webhooks(client, self._job_control))
        world.clock.handle(_RUN, self._run)
        world.clock.handle(_WAKE, self._wake)

    def begin(self) -> None:
        """Have Kueue's kinds served."""
        install(self._world.store)

    # ---- what it hears

    def follow(self, change: Change) -> None:
        """Note what has to be looked at; nothing is written from here."""
        resource, record = change.resource, change.record
        if resource == "jobs":
            if change.type == "DELETED" or not isinstance(record, ObjectRecord):
                return
            if self._job_control.managed(record):
                self._note(self._jobs, record.namespace, record.name)
        elif resource.endswith(GROUP):
            self._follow_own(change)
        elif resource in _ELSEWHERE:
            if resource == "limitranges":
                self.admitting.forget()
            if WORKLOADS in self._world.store.custom.stored and self._world.store.count(WORKLOADS):
                self._queues = True
                self._plan()

    def _follow_own(self, change: Change) -> None:
        resource, record, before = change.resource, change.record, change.before
        assert isinstance(record, ObjectRecord)
        gone = change.type == "DELETED"
        if resource == WORKLOADS:
            if not gone:
                self._note(self._workloads, record.namespace, record.name)
            for owner in record.owners:
                if owner["kind"] == "Job":
                    self._note(self._jobs, record.namespace, owner["name"])
            old = before if isinstance(before, ObjectRecord) else None
            if gone or change.type == "ADDED" or old is None or _weight(old) != _weight(record):
                self._queues = True
        elif resource == CLASSES:
            self._note_jobs()
        elif gone or not isinstance(before, ObjectRecord) or _own_part(before) != _own_part(record):
            self._queues = True
            if resource in (LOCAL_QUEUES, CLUSTER_QUEUES) or gone:
                self._note_workloads()
        self._plan()

    def _note(self, notes: dict[Key, None], namespace: str, name: str) -> None:
        notes[namespace, name] = None
        self._plan()

    def _note_jobs(self) -> None:
        for job in self._client.all("jobs"):
            if self._job_control.managed(job) and self._client.workload_of(job) is None:
                self._jobs[job.namespace, job.name] = None

    def _note_workloads(self) -> None:
        for record in self._client.all(WORKLOADS):
            self._workloads[record.namespace, record.name] = None

    def _plan(self) -> None:
        if not self._planned:
            self._planned = True
            self._world.clock.after(DELAY_SECONDS, _RUN)

    def _wake_at(self, time: float, record: ObjectRecord) -> None:
        key = record.namespace, record.name
        if self._wakes.get(key, float("inf")) > time:
            self._wakes[key] = time
            self._world.clock.at(time, _WAKE, *key)

    def _wake(self, namespace: str, name: str) -> None:
        self._wakes.pop((namespace, name), None)
        self._note(self._workloads, namespace, name)

    # ---- what it does

    def _run(self) -> None:
        self._planned = False
        jobs, self._jobs = self._jobs, {}
        for namespace, name in jobs:
            job = self._client.find("jobs", namespace, name)
            if job is not None:
                self._job_control.look(job)
        self._look_at_workloads()
        if self._queues:
            self.admitting.admit(self.admitting.snapshot())
            self._queues = False  # what was written just now leaves nothing to decide
            self._show()

    def _look_at_workloads(self) -> None:
        if not self._workloads:
            return
        noted, self._workloads = self._workloads, {}
        queues = self.admitting.queues().queues

        def find(name: str) -> Queue | None:
            return queues.get(name)

        for namespace, name in noted:
            record = self._client.find(WORKLOADS, namespace, name)
            if record is not None:
                held = is_queued(record, self._world.now)
                self._lifecycle.look(record, find)
                if is_queued(record, self._world.now) != held:
                    self._queues = True

    def _show(self) -> None:
        """Write what the queues show, when the last word is spoken."""
        snapshot = self.admitting.snapshot()
        write_statuses(self._client, snapshot, self.admitting.waiting(snapshot))

    def waiting_in(self, queue: str) -> Iterable[ObjectRecord]:
        """Yield the pending Workloads of a ClusterQueue in their order."""
        for info in self.admitting.waiting(self.admitting.snapshot()):
            if info.queue == queue:
                yield info.record


def _weight(record: ObjectRecord) -> tuple[object, ...]:
    """Return what of a Workload the queues depend on."""
    status = record.body.get("status") or {}
    evicted, back = condition(record, "Evicted"), condition(record, "Requeued")
    return (
        record.generation,
        record.deletion_at is None,
        is_reserving(record),
        is_true(record, "Admitted"),
        is_true(record, "PodsReady"),
        is_true(record, "Finished"),
        evicted is not None and evicted["status"],
        back is not None and back["status"],
        (status.get("requeueState") or {}).get("requeueAt"),
        status.get("reclaimablePods"),
        [row["state"] for row in status.get("admissionChecks") or ()],
    )


def _own_part(record: ObjectRecord) -> tuple[object, ...]:
    """Return what somebody else wrote of a queue, a flavor, a cohort or a check."""
    named = {name: value for name, value in record.body.items() if name != "status"}
    asleep = is_true(record, "Active") if record.name and "controllerName" in (
        record.body.get("spec") or {}) else None  # fmt: skip
    return (named, asleep, record.deletion_at is None)
