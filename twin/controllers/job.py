"""Job: pods until enough have succeeded, or more failed than the back-off limits allow.

Non-indexed and indexed completion, limits for each index, success and failure policies, replacement of pods,
suspension and the active deadline work as in kubernetes/kubernetes pkg/controller/job. A pod holds a tracking finalizer
until it has been counted, so none is counted twice and none goes uncounted.
"""

from __future__ import annotations

from collections.abc import Iterable

from twin.changes import Change
from twin.controllers.adoption import Adoption
from twin.controllers.job_attempts import ATTEMPTS, attempt_notes
from twin.controllers.job_counting import (
    TRACKING,
    Tally,
    is_indexed,
    replaces_failed_only,
    successor_notes,
    tally_of,
)
from twin.controllers.job_rules import (
    FAILURES,
    INDEX,
    index_of,
    indexes_text,
    missing_indexes,
    with_index,
)
from twin.controllers.job_status import (
    JobEnd,
    finish_time,
    is_finished,
    judge_completions,
    judge_job,
    with_suspension,
)
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import (
    FIRST_NAME,
    by_least_loss,
    create_pod,
    delete_pod,
    owned_pods,
    report,
    set_status,
)
from twin.part import Part
from twin.records import Object, ObjectRecord, PodRecord
from twin.timestamps import rfc3339
from twin.world import World

IGNORE_DISRUPTION: Object = {
    "rules": [
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }
    ]
}
OURS = "kubernetes.io/job-controller"


class Jobs(Part):
    """Reconciles jobs."""

    KEEPS = ("_failures", "_expiries")

    def __init__(self, world: World, loop: ControllerLoop, adoption: Adoption) -> None:
        self._world = world
        self._loop = loop
        self._adoption = adoption
        self._failures: dict[str, tuple[int, float]] = {}
        """By uid, or uid and index: failures since the last success, and when the last one was."""
        self._expiries: dict[str, float] = {}
        world.clock.handle("job.expire", self._expire)
        world.clock.handle("job.release", self._release_orphan)
        world.clock.handle("job.release-all", self._release_all)

    def follow(self, change: Change) -> None:
        """Let a pod go that lost its Job before it was counted."""
        pod = change.record
        if (
            isinstance(pod, PodRecord)
            and change.type != "DELETED"
            and TRACKING in pod.finalizers
            and pod.controller_uid() is None
        ):
            self._world.clock.after(0.1, "job.release", pod.uid)

    def forget(self, change: Change) -> None:
        """Drop what is remembered of a Job that is gone, and let its pods go."""
        job = change.record
        self._expiries.pop(job.uid, None)
        for key in [key for key in self._failures if key.startswith(job.uid)]:
            del self._failures[key]
        if owned_pods(self._world, job.uid):
            self._world.clock.after(0.1, "job.release-all", job.uid)

    def reconcile(self, namespace: str, name: str) -> bool:
        """Create or delete pods, then write status and conditions; False when one was refused."""
        job = self._world.store.find("jobs", namespace, name)
        if not isinstance(job, ObjectRecord):
            return True
        if job.body["spec"].get("managedBy", OURS) != OURS:
            return True
        if job.deletion_at is None:
            self._adoption.claim("jobs", job)
        status = dict(job.body.get("status") or {})
        if is_finished(status):
            self._untrack_all(owned_pods(self._world, job.uid))
            self._plan_expiry(job, status)
            return True
        return self._sync(job, status)

    def _sync(self, job: ObjectRecord, status: Object) -> bool:
        spec, accepted = job.body["spec"], True
        tally = tally_of(spec, status, owned_pods(self._world, job.uid))
        self._note_failures(job, tally)
        verdict = judge_job(spec, status, tally, self._world.now)
        if verdict is None and job.deletion_at is None:
            if spec.get("suspend"):
                self._suspend(job, status, tally)
            else:
                self._resume(job, status)
                accepted = self._scale(job, tally)
            active = self._active(job)
            verdict = judge_completions(spec, tally.succeeded, len(active))
        if verdict is not None:
            self._end(job, status, tally, verdict)
        elif job.deletion_at is not None:
            tally.counted = [
                p for p in owned_pods(self._world, job.uid) if TRACKING in p.finalizers
            ]
        self._count(job, status, tally)
        set_status(self._world, "jobs", job, status)
        self._untrack_all(tally.counted)
        return accepted

    # ---- counting

    def _active(self, job: ObjectRecord) -> list[PodRecord]:
        pods = owned_pods(self._world, job.uid)
        return [pod for pod in pods if not pod.terminal and pod.deletion_at is None]

    def _count(self, job: ObjectRecord, status: Object, tally: Tally) -> None:
        spec, active = job.body["spec"], self._active(job)
        kept = {pod.uid for pod in tally.delayed.values()}
        failed = int(status.get("failed", 0))
        failed += sum(pod.uid not in kept for pod in tally.new_failed)
        counts = {"active": len(active), "succeeded": tally.succeeded, "failed": failed}
        for field, count in counts.items():
            status[field] = count
            if not count:
                del status[field]
        status["ready"] = sum(pod.ready for pod in active)
        pods = owned_pods(self._world, job.uid)
        status["terminating"] = sum(not p.terminal and p.deletion_at is not None for p in pods)
        status["uncountedTerminatedPods"] = {}
        if is_indexed(spec) and (tally.indexes or "completedIndexes" in status):
            status["completedIndexes"] = indexes_text(tally.indexes)
        if spec.get("backoffLimitPerIndex") is not None:
            status["failedIndexes"] = indexes_text(tally.failed_indexes)

    def _note_failures(self, job: ObjectRecord, tally: Tally) -> None:
        """Remember failures since the last success, for the back-off; by index where each has its own."""
        by_index = job.body["spec"].get("backoffLimitPerIndex") is not None
        for pod in tally.new_succeeded:
            self._failures.pop(f"{job.uid}/{index_of(pod)}" if by_index else job.uid, None)
        for pod in tally.new_failed:
            key = f"{job.uid}/{index_of(pod)}" if by_index else job.uid
            ended = _end_of(pod)
            count, last = self._failures.get(key, (0, 0.0))
            if pod.uid not in {kept.uid for kept in tally.delayed.values()} or ended > last:
                self._failures[key] = (count + 1, max(last, ended))

    def _wait(self, key: str) -> float:
        """Return for how many seconds a failed pod is not replaced yet."""
        count, last = self._failures.get(key, (0, 0.0))
        if not count:
            return 0.0
        config = self._world.config.controllers
        delay = config.job_backoff_seconds * 2.0 ** min(count - 1, 10)
        return last + min(config.job_backoff_most_seconds, delay) - self._world.now

    # ---- finalizers

    def _untrack(self, pod: PodRecord) -> None:
        if TRACKING in pod.finalizers:
            before = pod.clone()
            pod.finalizers = tuple(entry for entry in pod.finalizers if entry != TRACKING)
            self._world.store.touch("pods", pod, before)

    def _untrack_all(self, pods: Iterable[PodRecord]) -> None:
        for pod in list(pods):
            self._untrack(pod)

    def _release_orphan(self, uid: str) -> None:
        pod = self._world.pods.get(uid)
        if pod is not None and pod.controller_uid() is None:
            self._untrack(pod)

    def _release_all(self, job_uid: str) -> None:
        self._untrack_all(owned_pods(self._world, job_uid))

    # ---- the end

    def _end(self, job: ObjectRecord, status: Object, tally: Tally, verdict: JobEnd) -> None:
        """Delete what still runs; the final condition waits until it is gone."""
        world = self._world
        tracked = [pod for pod in owned_pods(world, job.uid) if TRACKING in pod.finalizers]
        if not verdict.complete:  # what had not ended when a Job fails has failed
            rest = [pod for pod in tracked if not pod.terminal and pod not in tally.new_failed]
            tally.new_failed += rest
        tally.counted, tally.delayed = tracked, {}
        for pod in self._active(job):
            delete_pod(world, "jobs", job, pod)
        left = any(not pod.terminal for pod in owned_pods(world, job.uid))
        now = rfc3339(world.now)
        status["conditions"] = verdict.conditions(
            status.get("conditions") or [], now, final=not left
        )
        if left:
            return
        if verdict.complete:
            status["completionTime"] = now
            report(world, "jobs", job, "Completed", "Job completed")
        else:
            report(world, "jobs", job, verdict.reason, verdict.message)
        self._plan_expiry(job, status)

    def _plan_expiry(self, job: ObjectRecord, status: Object) -> None:
        ttl = job.body["spec"].get("ttlSecondsAfterFinished")
        ended = finish_time(status)
        if ttl is None or ended is None:
            return
        due = max(ended + ttl, self._world.now)
        if job.uid not in self._expiries or ended + ttl < self._expiries[job.uid]:
            self._expiries[job.uid] = due
            self._world.clock.at(due, "job.expire", job.uid, job.namespace, job.name)

    def _expire(self, uid: str, namespace: str, name: str) -> None:
        job = self._world.store.find("jobs", namespace, name)
        if isinstance(job, ObjectRecord) and job.uid == uid:
            ttl = job.body["spec"].get("ttlSecondsAfterFinished")
            ended = finish_time(job.body.get("status") or {})
            if ttl is not None and ended is not None and ended + ttl <= self._world.now + 1.0:
                self._world.store.delete_record("jobs", namespace, name, propagation="Foreground")

    # ---- suspension

    def _suspend(self, job: ObjectRecord, status: Object, tally: Tally) -> None:
        for pod in tally.active:
            self._dismiss(job, pod)
        status.pop("startTime", None)
        if with_suspension(status, truth=True, now=rfc3339(self._world.now)):
            report(self._world, "jobs", job, "Suspended", "Job suspended")

    def _resume(self, job: ObjectRecord, status: Object) -> None:
        now = self._world.now
        known = any(entry["type"] == "Suspended" for entry in status.get("conditions") or ())
        resumed = known and with_suspension(status, truth=False, now=rfc3339(now))
        if resumed:
            report(self._world, "jobs", job, "Resumed", "Job resumed")
        if resumed or "startTime" not in status:  # a resumed Job's clock starts anew
            status["startTime"] = rfc3339(now)
            limit = job.body["spec"].get("activeDeadlineSeconds")
            if limit is not None:
                self._loop.note_later(limit, "jobs", job.namespace, job.name)

    # ---- pods

    def _scale(self, job: ObjectRecord, tally: Tally) -> bool:
        spec, active = job.body["spec"], tally.active
        desired = spec["parallelism"]
        if spec.get("completions") is not None:
            desired = min(desired, spec["completions"] - tally.succeeded)
        elif tally.succeeded:  # a work queue whose first success means: no new pods
            desired = min(desired, len(active))
        for pod in _surplus(spec, active, max(0, desired)):
            self._dismiss(job, pod)
        occupied = len(active)
        if replaces_failed_only(spec):
            occupied += len(tally.terminating)
        missing = desired - occupied
        if missing <= 0:
            return True
        if is_indexed(spec):
            return self._create_missing(job, tally, missing)
        if self._waits(job, job.uid):
            return True
        fresh = FIRST_NAME in job.annotations and not owned_pods(self._world, job.uid)
        return all(self._create(job, first=fresh and n == 0) for n in range(missing))

    def _waits(self, job: ObjectRecord, key: str) -> bool:
        wait = self._wait(key)
        if wait > 0.0:
            self._loop.note_later(wait, "jobs", job.namespace, job.name)
        return wait > 0.0

    def _create_missing(self, job: ObjectRecord, tally: Tally, missing: int) -> bool:
        """Create pods for the lowest indexes that have none, but for those that wait."""
        spec = job.body["spec"]
        by_index = spec.get("backoffLimitPerIndex") is not None
        if not by_index and self._waits(job, job.uid):
            return True
        busy = [*tally.active, *(tally.terminating if replaces_failed_only(spec) else ())]
        taken = {*tally.indexes, *tally.failed_indexes, *map(index_of, busy)}
        if by_index:
            taken |= {i for i in sorted(tally.delayed) if self._waits(job, f"{job.uid}/{i}")}
        indexes = missing_indexes(spec["completions"], taken, missing)
        return all(self._create_indexed(job, index, tally) for index in indexes)

    def _dismiss(self, job: ObjectRecord, pod: PodRecord) -> None:
        """Delete a pod that is too many, uncounted."""
        self._untrack(pod)
        delete_pod(self._world, "jobs", job, pod)

    def _create(self, job: ObjectRecord, *, first: bool) -> bool:
        metadata = {"finalizers": [TRACKING]}
        return create_pod(self._world, "jobs", job, first=first, metadata=metadata) is None

    def _create_indexed(self, job: ObjectRecord, index: int, tally: Tally) -> bool:
        spec = job.body["spec"]
        pods = with_index(spec["template"]["spec"], job.name, index)
        notes = {INDEX: str(index)}
        before = tally.delayed.pop(index, None)
        if spec.get("backoffLimitPerIndex") is not None:
            notes |= successor_notes(spec, before)
        notes |= attempt_notes(job.annotations.get(ATTEMPTS, ""), index, notes.get(FAILURES, "0"))
        metadata = {
            "generateName": f"{job.name}-{index}-",
            "labels": {INDEX: str(index)},
            "annotations": notes,
            "finalizers": [TRACKING],
        }
        if create_pod(self._world, "jobs", job, metadata=metadata, spec=pods) is not None:
            return False
        tally.counted += [] if before is None else [before]
        return True


def _end_of(pod: PodRecord) -> float:
    """Return when a failed pod ended, or was asked to."""
    if pod.terminal and pod.ended is not None:
        return pod.ended.finished_at
    asked = None if pod.deletion_at is None else pod.deletion_at - (pod.deletion_grace_seconds or 0)
    return pod.created_at if asked is None else asked


def _surplus(spec: Object, active: list[PodRecord], desired: int) -> list[PodRecord]:
    """Return the pods that are too many: second ones of an index, beyond the last index, then those that run least."""
    if not is_indexed(spec):
        return by_least_loss(active)[: max(0, len(active) - desired)]
    seen, doubled, rest = set[int](), list[PodRecord](), list[PodRecord]()
    for pod in sorted(active, key=index_of):
        beyond = index_of(pod) in seen or index_of(pod) >= spec["completions"]
        (doubled if beyond else rest).append(pod)
        seen.add(index_of(pod))
    return [*doubled, *by_least_loss(rest)[: max(0, len(rest) - desired)]]
