"""Counting work by its transitions: each Job, pod and restart once, by uid.

The API shows levels: a Job that its TTL removes takes its completions with it. So each look is held against
the look before it. After a restart of the collector the counters go on where the log left them; what ended
since the newest snapshot counts by its own time stamp, and what was both created and removed in between is
not counted.

A Job that is gone without having been seen to end was dropped; but where its TTL is no longer than the time
between the two looks it may have ended and been removed in between, and is taken to have completed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from schemas.work import MOST_CLASSES, NO_CLASS, OTHER_CLASS, WorkCounters
from services.collector.backends import deployments_behind
from services.collector.changed_objects import ChangedObjects
from services.collector.observe import is_watched
from services.collector.pod_rows import ended_time
from services.collector.reading import CycleReads
from services.collector.work_metrics import WorkMetrics
from services.held import HELD, replicas_before
from services.kept_results import kept
from services.kube_objects import Meta, Pod, PodMeta, parse_time
from services.kube_workloads import Deployment, Job

DISRUPTION = "DisruptionTarget"
COMPLETE, FAILED = "Complete", "Failed"


@dataclass(frozen=True, slots=True)
class SeenJob:
    """A Job as it was at the last look."""

    succeeded: int
    wanted: int
    """Completions that end it."""
    ended: bool
    failed: bool
    ttl_seconds: float | None


@dataclass(frozen=True, slots=True)
class SeenPod:
    """A pod as it was at the last look."""

    workload: str
    running: bool
    restarts: int
    finished: bool
    disrupted: bool
    """It has been counted as an eviction."""


@dataclass(frozen=True, slots=True)
class WorkLedger:
    """The counters, and the objects as they were at the last look."""

    counters: WorkCounters = field(default_factory=WorkCounters)
    time_seconds: float | None = None
    """Cluster time of the last look; None before the first."""
    jobs: Mapping[str, SeenJob] | None = None
    """By uid; None before this process has looked."""
    pods: Mapping[str, SeenPod] | None = None


@dataclass(frozen=True, slots=True)
class WorkRules:
    """Rules of counting."""

    namespaces: tuple[str, ...] = ()
    """Prefixes of the watched namespaces; empty: all but Kubernetes' own."""
    overdue_seconds: float = 300.0
    """Pending for longer than this is overdue."""


T = TypeVar("T", Job, Pod, Deployment)
S = TypeVar("S")


class CountedObjects:
    """The objects behind a ledger, for who counts again and again: those that have not changed are passed over."""

    def __init__(self) -> None:
        """Begin with none."""
        self.jobs = _Counted[Job, SeenJob]()
        self.pods = _Counted[Pod, SeenPod]()


class _Counted(Generic[T, S]):
    """The objects of one kind, and what was seen of them."""

    def __init__(self) -> None:
        self._changes: ChangedObjects[T] = ChangedObjects()
        self._seen: Mapping[str, S] | None = None

    def begin(
        self, objects: Sequence[T], before: Mapping[str, S] | None
    ) -> tuple[dict[str, S], Collection[T]]:
        """Return what was seen of objects that have not changed since `before`, by uid, and the others."""
        known, self._seen = self._seen is not None and self._seen is before, None
        if not known:
            self._changes = ChangedObjects()
        changed = self._changes.compare(objects)
        if changed.doubled:
            return {}, objects
        self._changes.remember(changed)
        unchanged = dict(before or {}) if known else {}
        for gone in changed.gone.values():
            unchanged.pop(gone.metadata.uid, None)
        return unchanged, changed.come.values()

    def end(self, seen: Mapping[str, S]) -> None:
        """Note that what `begin` returned is counted: `seen` is of all objects now."""
        self._seen = seen


def count_work(
    ledger: WorkLedger,
    reads: CycleReads,
    metrics: WorkMetrics | None,
    time_seconds: float,
    rules: WorkRules,
    counted: CountedObjects | None = None,
) -> WorkLedger:
    """Return the ledger after a look at cluster time `time_seconds`; without `counted` it is the same.

    What a source that failed would have shown is counted at the next look that succeeds; its waiting is
    not, since nobody saw it.

    Raises:
        ValueError: a time stamp cannot be read.
    """
    counts, counted = _Counts(ledger, time_seconds, rules), counted or CountedObjects()
    jobs, pods = ledger.jobs, ledger.pods
    if reads.jobs.source.ok:
        jobs = counts.count_jobs(reads.jobs.items, counted.jobs)
    if reads.pods.source.ok:
        pods = counts.count_pods(reads.pods.items, counted.pods)
    if reads.deployments.source.ok:
        counts.count_held(_watched(reads.deployments.items, rules))
    counters = counts.counters(_with_workloads(metrics, reads))
    return WorkLedger(counters, time_seconds, jobs, pods)


def _with_workloads(metrics: WorkMetrics | None, reads: CycleReads) -> WorkMetrics | None:
    """Return the metrics with the Deployment behind each Service."""
    if metrics is None or reads.work is None or not reads.work.services:
        return metrics
    behind = deployments_behind(reads.work.services, reads.deployments.items)
    services = tuple(
        one.model_copy(update={"workload": behind.get(one.service, "")}) for one in metrics.services
    )
    return replace(metrics, services=services)


def _watched(items: Iterable[T], rules: WorkRules) -> list[T]:
    return [item for item in items if is_watched(item.metadata.namespace, rules.namespaces)]


class _Counts:
    """Counts of one observation."""

    def __init__(self, ledger: WorkLedger, now: float, rules: WorkRules) -> None:
        self._ledger = ledger
        self._now = now
        self._last = ledger.time_seconds
        self._rules = rules
        self._added: Counter[str] = Counter()
        self._waiting: dict[str, float] = dict(ledger.counters.waiting_pod_seconds)
        self._overdue: list[float] = []
        self._held: list[float] = []

    def counters(self, metrics: WorkMetrics | None) -> WorkCounters:
        """Return the counters with what was added."""
        before = self._ledger.counters
        measured = (
            {}
            if metrics is None
            else {
                "job_cpu_seconds_done": metrics.job_cpu_seconds_done,
                "job_cpu_seconds_lost": metrics.job_cpu_seconds_lost,
                "services": metrics.services,
            }
        )
        return WorkCounters(
            jobs_completed=before.jobs_completed + self._added["jobs_completed"],
            jobs_failed=before.jobs_failed + self._added["jobs_failed"],
            jobs_dropped=before.jobs_dropped + self._added["jobs_dropped"],
            tasks_completed=before.tasks_completed + self._added["tasks_completed"],
            evictions=before.evictions + self._added["evictions"],
            restarts=before.restarts + self._added["restarts"],
            waiting_pod_seconds=dict(sorted(self._waiting.items())),
            overdue_pod_seconds=math.fsum((before.overdue_pod_seconds, *self._overdue)),
            held_pod_seconds=math.fsum((before.held_pod_seconds, *self._held)),
            **measured,
        )

    # ---- Jobs

    def count_jobs(
        self, jobs: Sequence[Job], counted: _Counted[Job, SeenJob]
    ) -> Mapping[str, SeenJob]:
        """Count completions, ends and removals; return the watched Jobs as they are now."""
        before = self._ledger.jobs
        seen, changed = counted.begin(jobs, before)
        for job in _watched(changed, self._rules):
            now = _job_now(job)
            earlier = (
                self._unknown_job(job, now)
                if before is None
                else before.get(job.metadata.uid, _NEW_JOB)
            )
            if now is not earlier:
                self._added["tasks_completed"] += max(0, now.succeeded - earlier.succeeded)
                if now.ended and not earlier.ended:
                    self._added["jobs_failed" if now.failed else "jobs_completed"] += 1
            seen[job.metadata.uid] = now
        for job in _watched([job for job in jobs if job.spec.suspend], self._rules):
            if not _job_now(job).ended:
                self._held.append(job.spec.parallelism * self._since(job.metadata))
        for uid, gone in (before or {}).items():
            if uid not in seen and not gone.ended:
                self._job_gone(gone)
        counted.end(seen)
        return seen

    def _unknown_job(self, job: Job, now: SeenJob) -> SeenJob:
        """Return a Job as it was before this process looked: at rest, unless it has ended since."""
        ended = _end_of(job)
        if self._last is not None and ended is not None and ended > self._last:
            return _NEW_JOB
        return now

    def _job_gone(self, job: SeenJob) -> None:
        elapsed = 0.0 if self._last is None else self._now - self._last
        if job.ttl_seconds is not None and job.ttl_seconds <= elapsed:
            self._added["jobs_completed"] += 1
            self._added["tasks_completed"] += max(0, job.wanted - job.succeeded)
        else:
            self._added["jobs_dropped"] += 1

    # ---- pods

    def count_pods(
        self, pods: Sequence[Pod], counted: _Counted[Pod, SeenPod]
    ) -> Mapping[str, SeenPod]:
        """Count ends of bare pods, restarts, evictions and waiting; return the watched pods as they are now."""
        before = self._ledger.pods
        seen, changed = counted.begin(pods, before)
        touched = [uid for uid in before or {} if uid not in seen]
        for pod in _watched(changed, self._rules):
            uid = pod.metadata.uid
            now = _pod_now(pod)
            earlier = self._unknown_pod(pod, now) if before is None else before.get(uid, _NEW_POD)
            if now is not earlier:
                self._added["restarts"] += max(0, now.restarts - earlier.restarts)
                self._added["evictions"] += now.disrupted and not earlier.disrupted
                if pod.status.phase == "Succeeded" and not earlier.finished and not _of_job(pod):
                    self._added["tasks_completed"] += 1
            seen[uid] = now
            touched.append(uid)
        for pod in _watched([pod for pod in pods if pod.status.phase == "Pending"], self._rules):
            self._count_waiting(pod)
        self._added["evictions"] += _replaced(_only(before or {}, touched), _only(seen, touched))
        counted.end(seen)
        return seen

    def _unknown_pod(self, pod: Pod, now: SeenPod) -> SeenPod:
        ended = ended_time(pod)
        if self._last is not None and ended is not None and ended > self._last:
            return replace(now, finished=False)
        return now

    def _count_waiting(self, pod: Pod) -> None:
        seconds = self._since(pod.metadata)
        name = pod.spec.priority_class_name or NO_CLASS
        if name not in self._waiting and len(self._waiting) >= MOST_CLASSES:
            name = OTHER_CLASS
        self._waiting[name] = self._waiting.get(name, 0.0) + seconds
        waited = self._now - parse_time(pod.metadata.creation_timestamp or "")
        self._overdue.append(min(seconds, max(0.0, waited - self._rules.overdue_seconds)))

    def count_held(self, deployments: Sequence[Deployment]) -> None:
        """Count the pods that held Deployments lack."""
        for deployment in deployments:
            annotation = deployment.metadata.annotations.get(HELD)
            if annotation is not None and self._last is not None:
                lacking = max(0, replicas_before(annotation) - deployment.spec.replicas)
                self._held.append(lacking * (self._now - self._last))

    def _since(self, metadata: Meta | PodMeta) -> float:
        """Return the seconds since the last look, or since the object was made; 0 at the first look."""
        if self._last is None:
            return 0.0
        created = parse_time(metadata.creation_timestamp or "")
        return max(0.0, self._now - max(self._last, created))


_NEW_JOB = SeenJob(succeeded=0, wanted=1, ended=False, failed=False, ttl_seconds=None)
_NEW_POD = SeenPod(workload="", running=False, restarts=0, finished=False, disrupted=False)


@kept
def _job_now(job: Job) -> SeenJob:
    ends = {condition.type for condition in job.status.conditions if condition.status == "True"}
    return SeenJob(
        succeeded=job.status.succeeded,
        wanted=1 if job.spec.completions is None else job.spec.completions,
        ended=bool(ends & {COMPLETE, FAILED}),
        failed=FAILED in ends,
        ttl_seconds=job.spec.ttl_seconds_after_finished,
    )


def _end_of(job: Job) -> float | None:
    times = [
        parse_time(condition.last_transition_time)
        for condition in job.status.conditions
        if condition.type in {COMPLETE, FAILED}
        and condition.status == "True"
        and condition.last_transition_time is not None
    ]
    return max(times, default=None)


@kept
def _pod_now(pod: Pod) -> SeenPod:
    marked = pod.condition(DISRUPTION)
    return SeenPod(
        workload=pod.workload(),
        running=pod.status.phase == "Running",
        restarts=pod.restarts,
        finished=pod.finished,
        disrupted=marked is not None and marked.status == "True",
    )


def _of_job(pod: Pod) -> bool:
    return any(owner.kind == "Job" for owner in pod.metadata.owner_references)


def _only(pods: Mapping[str, SeenPod], uids: Collection[str]) -> Mapping[str, SeenPod]:
    return {uid: pods[uid] for uid in uids if uid in pods}


def _replaced(before: Mapping[str, SeenPod], seen: Mapping[str, SeenPod]) -> int:
    """Return how many running pods went although their workload has not fewer pods than before."""
    gone: Counter[str] = Counter()
    fewer: Counter[str] = Counter()
    for uid, pod in before.items():
        now = seen.get(uid)
        if now is not pod and pod.workload and not pod.finished and not pod.disrupted:
            fewer[pod.workload] += 1
            gone[pod.workload] += pod.running and now is None
    for uid, pod in seen.items():
        unchanged = before.get(uid) is pod
        if not unchanged and pod.workload and not pod.finished and not pod.disrupted:
            fewer[pod.workload] -= 1
    replaced = 0
    for workload, count in gone.items():
        replaced += max(0, count - max(0, fewer[workload]))
    return replaced
