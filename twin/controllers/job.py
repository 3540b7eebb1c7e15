"""Job: pods until enough have succeeded, or more failed than the back-off limit allows.

A pod that was deleted while it ran counts as failed, unless it was disrupted (evicted, its node
lost) and the Job's podFailurePolicy ignores that, as workload Jobs do.
"""

from __future__ import annotations

from twin.changes import Change
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import FIRST_NAME, create_pod, owned_pods, set_status
from twin.part import Part
from twin.records import Object, ObjectRecord, PodRecord
from twin.timestamps import rfc3339
from twin.world import World

_BACKOFF_SECONDS, _BACKOFF_MAX_SECONDS = 10.0, 360.0
IGNORE_DISRUPTION: Object = {
    "rules": [
        {
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }
    ]
}


class Jobs(Part):
    """Reconciles jobs."""

    KEEPS = ("_lost", "_last_failure")

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop
        self._lost: dict[str, int] = {}  # pods deleted while running, by uid of the job
        self._last_failure: dict[str, float] = {}

    def follow(self, change: Change) -> None:
        """Note pods that went away or failed."""
        pod = change.record
        if not isinstance(pod, PodRecord):
            return
        uid = pod.controller_uid()
        if uid is None or not any(owner["kind"] == "Job" for owner in pod.owners):
            return
        if change.type == "DELETED":
            if not pod.terminal and not (pod.disruption and self._ignores_disruption(pod)):
                self._lost[uid] = self._lost.get(uid, 0) + 1
        elif pod.phase == "Failed" and change.previous_fields and not pod.ready:  # noqa: SIM102
            if change.previous_fields[1] != "Failed":
                self._last_failure[uid] = self._world.now

    def reconcile(self, namespace: str, name: str) -> None:
        """Create or delete pods, then write status and conditions."""
        job = self._world.store.find("jobs", namespace, name)
        if not isinstance(job, ObjectRecord) or job.deletion_at is not None:
            return
        status = dict(job.body.get("status") or {})
        if _finished(status):
            return
        pods = owned_pods(self._world, job.uid)
        active = [pod for pod in pods if not pod.terminal and pod.deletion_at is None]
        succeeded = sum(pod.phase == "Succeeded" for pod in pods)
        failed = self._failed(job, pods)
        verdict = self._verdict(job, status, succeeded, failed, len(active))
        if verdict is not None:
            self._end(job, status, active, verdict)
            active = []
        elif job.body["spec"].get("suspend"):
            active = self._suspend(status, active)
        else:
            self._resume(job, status)
            self._scale(job, active, succeeded, failed)
            pods = owned_pods(self._world, job.uid)
            active = [pod for pod in pods if not pod.terminal and pod.deletion_at is None]
        counts = {"active": len(active), "succeeded": succeeded, "failed": failed}
        counts["ready"] = sum(pod.ready for pod in active)
        for field, count in counts.items():
            status[field] = count
            if not count and field != "ready":
                del status[field]
        set_status(self._world, "jobs", job, status)

    def expire(self, uid: str, namespace: str, name: str) -> None:
        """Delete a finished job whose time to live has passed."""
        job = self._world.store.find("jobs", namespace, name)
        if job is not None and job.uid == uid:
            self._world.store.delete("jobs", namespace, name)

    def _ignores_disruption(self, pod: PodRecord) -> bool:
        name = next(owner["name"] for owner in pod.owners if owner["kind"] == "Job")
        job = self._world.store.find("jobs", pod.namespace, name)
        if not isinstance(job, ObjectRecord):
            return True
        return _ignores_disruption(job)

    def _failed(self, job: ObjectRecord, pods: list[PodRecord]) -> int:
        ignores = _ignores_disruption(job)
        counted = [p for p in pods if p.phase == "Failed" and not (ignores and p.disruption)]
        return len(counted) + self._lost.get(job.uid, 0)

    def _verdict(
        self, job: ObjectRecord, status: Object, succeeded: int, failed: int, active: int
    ) -> tuple[str, str, str] | None:
        """Return (condition, reason, message) when the job is over."""
        spec = job.body["spec"]
        if failed > spec["backoffLimit"]:
            return ("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        limit, started = spec.get("activeDeadlineSeconds"), status.get("startTime")
        if limit is not None and started and self._age(job) >= limit:
            return ("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
        wanted = spec.get("completions")
        enough = succeeded >= wanted if wanted is not None else succeeded > 0 and not active
        return ("Complete", "CompletionsReached", "") if enough else None

    def _age(self, job: ObjectRecord) -> float:
        return self._world.now - job.created_at

    def _end(
        self,
        job: ObjectRecord,
        status: Object,
        active: list[PodRecord],
        verdict: tuple[str, str, str],
    ) -> None:
        world, (kind, reason, message) = self._world, verdict
        for pod in active:
            world.store.delete("pods", pod.namespace, pod.name)
        now = rfc3339(world.now)
        status.setdefault("conditions", [])
        status["conditions"] = [
            *(entry for entry in status["conditions"] if entry["type"] != kind),
            {
                "type": kind,
                "status": "True",
                "lastProbeTime": now,
                "lastTransitionTime": now,
                "reason": reason,
                "message": message,
            },
        ]
        if kind == "Complete":
            status["completionTime"] = now
        world.reporter.report(job, "Job", "Completed" if kind == "Complete" else reason,
                              message or "Job completed", "job-controller")  # fmt: skip
        self._lost.pop(job.uid, None)
        self._last_failure.pop(job.uid, None)
        ttl = job.body["spec"].get("ttlSecondsAfterFinished")
        if ttl is not None:
            world.clock.after(ttl, "job.expire", job.uid, job.namespace, job.name)

    def _suspend(self, status: Object, active: list[PodRecord]) -> list[PodRecord]:
        for pod in active:
            self._world.store.delete("pods", pod.namespace, pod.name)
        status.pop("startTime", None)
        self._mark_suspended(status, True)
        return []

    def _resume(self, job: ObjectRecord, status: Object) -> None:
        if any(entry["type"] == "Suspended" for entry in status.get("conditions") or []):
            self._mark_suspended(status, False)
        if "startTime" not in status:
            status["startTime"] = rfc3339(self._world.now)
            limit = job.body["spec"].get("activeDeadlineSeconds")
            if limit is not None:
                self._loop.note_later(limit, "jobs", job.namespace, job.name)

    def _mark_suspended(self, status: Object, truth: bool) -> None:
        known = status.get("conditions") or []
        if any(c["type"] == "Suspended" and c["status"] == str(truth) for c in known):
            return
        now = rfc3339(self._world.now)
        fresh = {
            "type": "Suspended",
            "status": str(truth),
            "lastProbeTime": now,
            "lastTransitionTime": now,
            "reason": "JobSuspended" if truth else "JobResumed",
            "message": "Job suspended" if truth else "Job resumed",
        }
        status["conditions"] = [*(c for c in known if c["type"] != "Suspended"), fresh]

    def _scale(
        self, job: ObjectRecord, active: list[PodRecord], succeeded: int, failed: int
    ) -> None:
        spec, world = job.body["spec"], self._world
        wanted = spec["parallelism"]
        if spec.get("completions") is not None:
            wanted = min(wanted, spec["completions"] - succeeded)
        elif succeeded:  # a work queue whose first success means: no new pods
            wanted = min(wanted, len(active))
        for pod in active[max(0, wanted) :]:
            world.store.delete("pods", pod.namespace, pod.name)
        missing = wanted - len(active)
        if missing <= 0:
            return
        wait = self._wait(job.uid, failed)
        if wait > 0.0:
            self._loop.note_later(wait, "jobs", job.namespace, job.name)
            return
        fresh = not owned_pods(world, job.uid) and FIRST_NAME in job.annotations
        for index in range(missing):
            if not create_pod(world, "jobs", job, first=fresh and index == 0):
                break

    def _wait(self, uid: str, failed: int) -> float:
        last = self._last_failure.get(uid)
        if last is None or not failed:
            return 0.0
        delay = min(_BACKOFF_MAX_SECONDS, _BACKOFF_SECONDS * 2.0 ** min(failed - 1, 10))
        return last + delay - self._world.now


def _ignores_disruption(job: ObjectRecord) -> bool:
    rules = (job.body["spec"].get("podFailurePolicy") or {}).get("rules") or []
    return any(
        rule.get("action") == "Ignore"
        and any(c.get("type") == "DisruptionTarget" for c in rule.get("onPodConditions") or [])
        for rule in rules
    )


def _finished(status: Object) -> bool:
    return any(
        entry["type"] in ("Complete", "Failed") and entry["status"] == "True"
        for entry in status.get("conditions") or []
    )
