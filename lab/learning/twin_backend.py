"""The twin with its Kueue behind the same port as the plain simulator: real Jobs, Workloads, a scheduler and kubelets.

A policy acts as one may on a live Kueue. The ClusterQueue is on hold, each Workload is deactivated as it appears
(`spec.active`), and whoever is to be admitted is activated and the hold lifted for a moment; Kueue itself reserves the
quota. With a queueing strategy instead, Kueue decides alone. Machines start containers at once and pull nothing, so
that what remains of latency is that of controllers; each Job's work is shortened by it, as a job's time here is the
time that it holds quota.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from lab.learning.jobs import Job, JobStream, Outcome, State
from lab.learning.simulator import OOM_WINDOW_SECONDS, JobRecord
from lab.learning.twin_objects import (
    NAMESPACE,
    QUEUE,
    Strategy,
    index_of_job,
    job_name,
    job_object,
    prepare_queue,
)
from twin.port.engine import Change, Engine
from twin.port.objects import (
    CLUSTER_QUEUES,
    WORKLOADS,
    Object,
    ObjectRecord,
)
from twin.port.settings import KueueConfig, TwinConfig

CONFIG = TwinConfig(
    kueue=KueueConfig(served=True),
    start_median_seconds=0.0,
    start_sigma=0.0,
    stop_median_seconds=0.0,
    pull_bytes_per_second=1e15,
    kube_events=False,
)
DECIDED_OVERHEAD, OWN_OVERHEAD = 0.36, 0.31
"""Seconds from a decision, or from when there is room, to the end that is seen, beyond the work: measured."""
LOOK_SECONDS = 0.05
"""Between two looks for what is due and has not been seen yet."""
INSTANT_SECONDS = 0.001
PATIENCE_SECONDS = 30.0
"""After which an admission has gone wrong."""
_SUBMIT, _DEACTIVATE = "learning.submit", "learning.deactivate"


class TwinCluster:
    """One cluster of the twin that plays one stream; see `lab.learning.simulator.Cluster` for the members."""

    def __init__(
        self,
        stream: JobStream,
        strategy: Strategy | None = None,
        *,
        config: TwinConfig = CONFIG,
        overhead_seconds: float | None = None,
        seed: int = 0,
    ) -> None:
        """Make the cluster and its queue, and submit what arrives at 0 s.

        Args:
            stream: what is played.
            strategy: Kueue decides alone by it; None: a policy does.
            config: of the twin, Kueue served.
            overhead_seconds: by how much work is shortened; None: as measured for `CONFIG`.
            seed: of the twin.
        """
        self.stream, self.quota, self.free = stream, stream.quota, stream.quota
        self.now = 0.0
        self.records = [JobRecord() for _ in stream.jobs]
        self.admitted: list[int] = []
        self._decides = strategy is None
        measured = DECIDED_OVERHEAD if self._decides else OWN_OVERHEAD
        self._overhead = measured if overhead_seconds is None else overhead_seconds
        self._chosen: list[int] = []
        self._closed = False
        self._late: list[int] = []
        self._is_in: set[int] = set()
        self._arrivals = [job.arrival_seconds for job in stream.jobs]
        self._ended: list[tuple[float, bool]] = []
        self.engine = Engine(config, seed)
        prepare_queue(self.engine, stream, strategy or "BestEffortFIFO", held=self._decides)
        self._begin = self.engine.now
        self.engine.clock.handle(_SUBMIT, self._submit)
        self.engine.clock.handle(_DEACTIVATE, self._deactivate)
        self.engine.store.subscribe(self._follow)
        for index, at in enumerate(self._arrivals):
            self.engine.clock.at(self._begin + at, _SUBMIT, index)
        self._arrive()

    # ---- what is seen

    @property
    def pending(self) -> list[int]:
        """Jobs that wait, in Kueue's order."""
        waiting = (i for i, record in enumerate(self.records) if record.state is State.PENDING)
        return sorted(waiting, key=lambda i: (-self.stream.jobs[i].priority, i))

    def slots(self, count: int) -> list[int]:
        """Return the first `count` jobs of the queue."""
        return self.pending[:count]

    @property
    def pending_count(self) -> int:
        """Return how many wait."""
        return sum(record.state is State.PENDING for record in self.records)

    @property
    def running(self) -> list[int]:
        """Jobs that run, the soonest end first."""
        held = (i for i, record in enumerate(self.records) if record.state is State.RUNNING)
        return sorted(held, key=lambda i: (self.records[i].end_seconds, i))

    def job(self, index: int) -> Job:
        """Return a job of the stream."""
        return self.stream.jobs[index]

    def fits(self, index: int) -> bool:
        """Say whether a job's requests are free now."""
        return self.stream.jobs[index].requests.fits(self.free)

    def wait_seconds(self, index: int) -> float:
        """Return how long a job has waited, or waited before its start."""
        record, arrival = self.records[index], self._arrivals[index]
        waits = record.state in (State.NOT_YET, State.PENDING)
        return max(0.0, (self.now if waits else record.start_seconds) - arrival)

    @property
    def mean_wait_seconds(self) -> float:
        """Return the mean wait of those that wait now; 0 when nobody does."""
        waiting = self.pending
        return sum(map(self.wait_seconds, waiting)) / len(waiting) if waiting else 0.0

    @property
    def oom_ratio(self) -> float:
        """Share of those that ended within the last hour that ended for want of memory."""
        recent = [oom for end, oom in self._ended if end > self.now - OOM_WINDOW_SECONDS]
        return sum(recent) / len(recent) if recent else 0.0

    def next_event_seconds(self) -> float:
        """Return when the next job arrives, or is due to end; a moment from now for an end that is overdue."""
        at = bisect_right(self._arrivals, self.now)
        arrival = self._arrivals[at] if at < len(self._arrivals) else inf
        running = self.running
        if not running:
            idle = self._decides or not self.pending_count
            return arrival if idle else min(arrival, self.now + LOOK_SECONDS)
        return min(arrival, max(self.records[running[0]].end_seconds, self.now + LOOK_SECONDS))

    @property
    def is_over(self) -> bool:
        """Whether every job of the stream has ended."""
        return all(record.state in (State.COMPLETED, State.FAILED) for record in self.records)

    # ---- what happens

    def admit(self, index: int) -> bool:
        """Have Kueue admit a pending job as time goes on; False when it does not wait or fit, or Kueue decides."""
        record = self.records[index]
        if not self._decides or record.state is not State.PENDING or not self.fits(index):
            return False
        self._note_start(index)
        self._chosen.append(index)
        return True

    def advance(self, until_seconds: float) -> None:
        """Let time pass, and before it Kueue admit who was chosen.

        Raises:
            ValueError: that is in the past.
                RuntimeError: Kueue did not admit somebody who fits.
        """
        if until_seconds < self.now:
            raise ValueError(f"time cannot go back from {self.now} s to {until_seconds} s")
        if self._chosen:
            self._lift()
        # Kueue's moment may have gone beyond a very near event, which then has happened already.
        self.engine.advance(max(self.engine.now, self._begin + until_seconds))
        self.now = until_seconds
        self._arrive()

    def _lift(self) -> None:
        """Activate who was chosen, and lift the hold until Kueue has admitted them; nothing else is submitted then."""
        self.engine.advance(self.engine.now + INSTANT_SECONDS)  # who arrives now is submitted first
        self._closed = True
        self._wait_for(lambda: all(map(self._workload_of, self._chosen)))
        for index in self._chosen:
            self._set_active(self._workload_of(index), active=True)
        self._set_hold("None")
        self._wait_for(lambda: self._is_in.issuperset(self._chosen))
        self._set_hold("Hold")
        self._chosen, self._closed = [], False
        for index in self._late:
            self._submit(index)
        self._late = []

    def _wait_for(self, happened: Callable[[], bool]) -> None:
        """Let moments pass until something has happened; raises RuntimeError when it does not."""
        until = self.engine.now + PATIENCE_SECONDS
        while not happened():
            if self.engine.now >= until:
                names = ", ".join(self.stream.jobs[index].name for index in self._chosen)
                raise RuntimeError(f"Kueue has not admitted {names} within {PATIENCE_SECONDS} s")
            self.engine.advance(self.engine.now + LOOK_SECONDS)

    def _arrive(self) -> None:
        for index in range(bisect_right(self._arrivals, self.now)):
            if self.records[index].state is State.NOT_YET:
                self.records[index].state = State.PENDING

    def _note_start(self, index: int) -> None:
        """Take a job's quota; when Kueue admits it, its times follow."""
        self.records[index].state = State.RUNNING
        self.free = self.free - self.stream.jobs[index].requests
        self.admitted.append(index)
        self._note_times(index, self.now)

    def _note_admission(self, index: int) -> None:
        if index in self._is_in:
            return
        self._is_in.add(index)
        if self.records[index].state in (State.NOT_YET, State.PENDING):
            self._note_start(index)
        self._note_times(index, self.engine.now - self._begin)

    def _note_times(self, index: int, start: float) -> None:
        record = self.records[index]
        record.start_seconds = start
        record.end_seconds = start + self.stream.jobs[index].running_seconds

    # ---- the twin's side

    def _submit(self, index: int) -> None:
        if self._closed:
            self._late.append(index)
            return
        self.engine.store.create(
            "jobs", NAMESPACE, job_object(self.stream.jobs[index], index, self._overhead)
        )

    def _follow(self, change: Change) -> None:
        record = change.record
        if not isinstance(record, ObjectRecord):
            return
        if change.resource == WORKLOADS and change.type == "ADDED" and self._decides:
            # Nobody writes to the store while it tells of a change.
            self.engine.clock.at(self.engine.now, _DEACTIVATE, record.name)
        elif change.resource == WORKLOADS and _is_true(record.body, "Admitted"):
            self._note_admission(index_of_job(record.owners[0]["name"]))
        elif change.resource == "jobs" and change.type == "MODIFIED":
            self._note_end(record)

    def _note_end(self, record: ObjectRecord) -> None:
        index = index_of_job(record.name)
        completed = _is_true(record.body, "Complete")
        if self.records[index].state is State.RUNNING and (
            completed or _is_true(record.body, "Failed")
        ):
            job, end = self.stream.jobs[index], self.engine.now - self._begin
            self.records[index].state = State.COMPLETED if completed else State.FAILED
            self.records[index].end_seconds = end
            self.free = self.free + job.requests
            self._ended.append(
                (
                    end,
                    job.outcome is Outcome.OUT_OF_MEMORY
                    and job.true_seconds <= job.deadline_seconds,
                )
            )

    def _deactivate(self, name: str) -> None:
        self._set_active(name, active=False)

    def _set_active(self, name: str, *, active: bool) -> None:
        self._set_spec(WORKLOADS, NAMESPACE, name, {"active": active})

    def _set_hold(self, policy: str) -> None:
        self._set_spec(CLUSTER_QUEUES, "", QUEUE, {"stopPolicy": policy})

    def _set_spec(
        self, resource: str, namespace: str, name: str, fields: Mapping[str, Any]
    ) -> None:
        store = self.engine.store
        found = store.get(resource, namespace, name)
        store.replace(resource, namespace, name, {**found, "spec": {**found["spec"], **fields}})

    def _workload_of(self, index: int) -> str:
        """Return the name of a job's Workload; empty before it is made."""
        owner = job_name(index)
        for record in self.engine.store.records(WORKLOADS, NAMESPACE):
            if any(one["name"] == owner for one in record.owners):
                return record.name
        return ""


def _is_true(obj: Object, kind: str) -> bool:
    rows = (obj.get("status") or {}).get("conditions") or ()
    return any(row["type"] == kind and row["status"] == "True" for row in rows)
