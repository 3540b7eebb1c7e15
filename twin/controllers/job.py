"""Job: pods until enough have succeeded, or more failed than the back-off limit allows.

Non-indexed and indexed completion, suspension, the active deadline and the pod failure policy work
as in kubernetes/kubernetes pkg/controller/job. A pod that was deleted while it ran counts as
failed, unless it was disrupted (evicted, its node lost) and the failure policy ignores that, as the
workload's own Jobs do. Not modelled: backoffLimitPerIndex, successPolicy, elastic replacement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from twin.changes import Change
from twin.controllers.job_rules import (
    INDEX,
    apply_failure_policy,
    index_of,
    indexes_text,
    missing_indexes,
    with_index,
)
from twin.controllers.job_status import (
    Verdict,
    finish_time,
    is_finished,
    judge_job,
    with_suspension,
)
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import (
    FIRST_NAME,
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


@dataclass(frozen=True, slots=True)
class Tally:
    """The pods of a Job, those counted that are gone included."""

    active: list[PodRecord]
    terminating: int
    succeeded: int
    failed: int
    indexes: frozenset[int]  # completed ones of an indexed Job
    fatal: str  # what a FailJob rule says, empty without one


class Jobs(Part):
    """Reconciles jobs."""

    KEEPS = ("_lost", "_done", "_last_failure", "_expiries", "_dismissed")

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop
        self._lost: dict[str, int] = {}  # failed pods that are gone, by uid of the job
        self._done: dict[str, tuple[int, ...]] = {}  # indexes of succeeded pods that are gone
        self._last_failure: dict[str, float] = {}
        self._expiries: dict[str, float] = {}
        self._dismissed: dict[str, None] = {}  # uids of pods that a Job deleted: no failures
        world.clock.handle("job.expire", self._expire)

    def follow(self, change: Change) -> None:
        """Note pods that went away or failed."""
        pod = change.record
        if not isinstance(pod, PodRecord) or not pod.owners:
            return
        owner = next((entry for entry in pod.owners if entry.get("controller")), None)
        if owner is None or owner["kind"] != "Job":
            return
        uid = str(owner["uid"])
        if change.type == "DELETED":
            self._note_gone(pod, uid, owner["name"])
        elif pod.phase == "Failed" and change.previous_fields and not pod.ready:  # noqa: SIM102
            if change.previous_fields[1] != "Failed":
                self._last_failure[uid] = self._world.now

    def _note_gone(self, pod: PodRecord, uid: str, name: str) -> None:
        if pod.uid in self._dismissed:
            del self._dismissed[pod.uid]
            return
        job = self._world.store.find("jobs", pod.namespace, name)
        if not isinstance(job, ObjectRecord) or job.uid != uid:
            return
        if is_finished(job.body.get("status") or {}):
            return
        if pod.phase == "Succeeded":
            self._done[uid] = (*self._done.get(uid, ()), index_of(pod))
        elif not pod.disruption or apply_failure_policy(_policy(job), pod).action != "Ignore":
            self._lost[uid] = self._lost.get(uid, 0) + 1

    def forget(self, change: Change) -> None:
        """Drop what is remembered of a Job that is gone."""
        uid = change.record.uid
        for memory in (self._lost, self._done, self._last_failure, self._expiries):
            memory.pop(uid, None)

    def reconcile(self, namespace: str, name: str) -> bool:
        """Create or delete pods, then write status and conditions; False when one was refused."""
        job = self._world.store.find("jobs", namespace, name)
        if not isinstance(job, ObjectRecord) or job.deletion_at is not None:
            return True
        status = dict(job.body.get("status") or {})
        if is_finished(status):
            self._plan_expiry(job, status)
            return True
        tally, accepted = self._tally(job), True
        verdict = judge_job(job.body["spec"], status, tally.succeeded, tally.failed,
                         len(tally.active), tally.fatal, self._world.now)  # fmt: skip
        if verdict is not None:
            self._end(job, status, tally, verdict)
        elif job.body["spec"].get("suspend"):
            self._suspend(job, status, tally)
        else:
            self._resume(job, status)
            accepted = self._scale(job, tally)
        self._count(job, status, tally)
        set_status(self._world, "jobs", job, status)
        return accepted

    # ---- counting

    def _tally(self, job: ObjectRecord) -> Tally:
        policy, uid = _policy(job), job.uid
        active: list[PodRecord] = []
        terminating, failed, fatal = 0, self._lost.get(uid, 0), ""
        done = list(self._done.get(uid, ()))
        for pod in owned_pods(self._world, uid):
            if pod.phase == "Succeeded":
                done.append(index_of(pod))
            elif pod.phase == "Failed":
                ruling = apply_failure_policy(policy, pod)
                failed += ruling.action != "Ignore"
                fatal = fatal or (ruling.message if ruling.action == "FailJob" else "")
            elif pod.deletion_at is None:
                active.append(pod)
            else:
                terminating += 1
        indexed = job.body["spec"].get("completionMode") == "Indexed"
        indexes = frozenset(index for index in done if index >= 0) if indexed else frozenset()
        succeeded = len(indexes) if indexed else len(done)
        return Tally(active, terminating, succeeded, failed, indexes, fatal)

    def _count(self, job: ObjectRecord, status: Object, tally: Tally) -> None:
        pods = owned_pods(self._world, job.uid)
        active = [pod for pod in pods if not pod.terminal and pod.deletion_at is None]
        counts = {"active": len(active), "succeeded": tally.succeeded, "failed": tally.failed}
        for field, count in counts.items():
            status[field] = count
            if not count:
                del status[field]
        status["ready"] = sum(pod.ready for pod in active)
        status["terminating"] = sum(not p.terminal and p.deletion_at is not None for p in pods)
        if tally.indexes:
            status["completedIndexes"] = indexes_text(tally.indexes)

    # ---- the end

    def _end(self, job: ObjectRecord, status: Object, tally: Tally, verdict: Verdict) -> None:
        """Delete what still runs; the final condition waits until it is gone."""
        world = self._world
        for pod in tally.active:
            self._dismiss(job, pod)
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
        for memory in (self._lost, self._done, self._last_failure):
            memory.pop(job.uid, None)
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
                self._world.store.delete_record("jobs", namespace, name)

    # ---- suspension

    def _suspend(self, job: ObjectRecord, status: Object, tally: Tally) -> None:
        for pod in tally.active:
            self._dismiss(job, pod)
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
        spec, world = job.body["spec"], self._world
        desired, active = spec["parallelism"], tally.active
        if spec.get("completions") is not None:
            desired = min(desired, spec["completions"] - tally.succeeded)
        elif tally.succeeded:  # a work queue whose first success means: no new pods
            desired = min(desired, len(active))
        indexed = spec.get("completionMode") == "Indexed"
        for pod in _surplus(active, max(0, desired), indexed=indexed):
            self._dismiss(job, pod)
        missing = desired - len(active)
        if missing <= 0:
            return True
        wait = self._wait(job.uid, tally.failed)
        if wait > 0.0:
            self._loop.note_later(wait, "jobs", job.namespace, job.name)
            return True
        if indexed:
            taken = [*sorted(tally.indexes), *(index_of(pod) for pod in active)]
            indexes = missing_indexes(spec["completions"], taken, missing)
            return all(self._create_indexed(job, index) for index in indexes)
        fresh = FIRST_NAME in job.annotations and not owned_pods(world, job.uid)
        return all(
            create_pod(world, "jobs", job, first=fresh and number == 0) is None
            for number in range(missing)
        )

    def _dismiss(self, job: ObjectRecord, pod: PodRecord) -> None:
        self._dismissed[pod.uid] = None
        delete_pod(self._world, "jobs", job, pod)

    def _create_indexed(self, job: ObjectRecord, index: int) -> bool:
        spec = with_index(job.body["spec"]["template"]["spec"], job.name, index)
        metadata = {
            "generateName": f"{job.name}-{index}-",
            "labels": {INDEX: str(index)},
            "annotations": {INDEX: str(index)},
        }
        return create_pod(self._world, "jobs", job, metadata=metadata, spec=spec) is None

    def _wait(self, uid: str, failed: int) -> float:
        last = self._last_failure.get(uid)
        if last is None or not failed:
            return 0.0
        config = self._world.config.controllers
        delay = config.job_backoff_seconds * 2.0 ** min(failed - 1, 10)
        return last + min(config.job_backoff_most_seconds, delay) - self._world.now


def _policy(job: ObjectRecord) -> Object | None:
    policy: Object | None = job.body["spec"].get("podFailurePolicy")
    return policy


def _surplus(active: Sequence[PodRecord], desired: int, *, indexed: bool) -> list[PodRecord]:
    """Return the pods that are too many: those that run least, or the highest indexes."""
    if len(active) <= desired:
        return []
    if indexed:
        return sorted(active, key=index_of)[desired:]
    return list(active[desired:])
