"""CronJob: a Job at each time that its schedule names.

Concurrency policy, starting deadline, time zone, suspension and history limits work as in
kubernetes/kubernetes pkg/controller/cronjob/cronjob_controllerv2.go. Without a CronJob in the
cluster nothing of this runs.
"""

from __future__ import annotations

from datetime import datetime, tzinfo
from email.utils import format_datetime

from twin.changes import Change
from twin.controllers.job_status import is_finished, is_succeeded
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import owner_reference, report, set_status
from twin.cron_schedule import Schedule, parse_schedule, zone_of
from twin.errors import ApiError
from twin.part import Part
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339, unix
from twin.world import World

_RESOURCE = "cronjobs"
SCHEDULED_AT = "batch.kubernetes.io/cronjob-scheduled-timestamp"
_AFTER_SECONDS = 0.1  # upstream looks 100 ms after the time is due
_SPANS_SECONDS = (3_600.0, 86_400.0, 31 * 86_400.0, 366 * 86_400.0)
_MANY_MISSED = 100


class CronJobs(Part):
    """Reconciles cronjobs."""

    KEEPS = ("_due",)

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop
        self._due: dict[str, float] = {}  # the next look that is planned, by uid

    def forget(self, change: Change) -> None:
        """Drop what is remembered of a CronJob that is gone."""
        self._due.pop(change.record.uid, None)

    def reconcile(self, namespace: str, name: str) -> bool:
        """Start what is due and forget what is over; False when a Job was refused."""
        record = self._world.store.find(_RESOURCE, namespace, name)
        if not isinstance(record, ObjectRecord):
            return True
        status = dict(record.body.get("status") or {})
        status.setdefault("active", [])
        jobs = self._jobs(record)
        self._clean(record, status, jobs)  # one that nobody keeps is not told of
        self._follow_jobs(record, status, jobs)
        accepted = True
        if record.deletion_at is None and not record.body["spec"].get("suspend"):
            accepted = self._start(record, status)
        if not status.get("active"):
            status.pop("active", None)
        set_status(self._world, _RESOURCE, record, status)
        return accepted

    # ---- Jobs that exist

    def _jobs(self, record: ObjectRecord) -> list[ObjectRecord]:
        dependents = self._world.store.dependents.get(record.uid, {})
        return [job for (resource, _), job in dependents.items()
                if resource == "jobs" and isinstance(job, ObjectRecord)]  # fmt: skip

    def _follow_jobs(self, record: ObjectRecord, status: Object, jobs: list[ObjectRecord]) -> None:
        uids = {job.uid for job in jobs}
        active: list[Object] = []
        for entry in status.get("active") or ():
            if entry["uid"] in uids:
                active.append(entry)
            else:
                self._tell(record, "MissingJob", f"Active job went missing: {entry['name']}")
        for job in jobs:
            is_listed = any(entry["uid"] == job.uid for entry in active)
            state = job.body.get("status") or {}
            if not is_finished(state):
                if not is_listed:
                    text = "Saw a job that the controller did not create or forgot: "
                    self._tell(record, "UnexpectedJob", text + job.name)
                continue
            if is_listed:
                active = [entry for entry in active if entry["uid"] != job.uid]
                kind = "Complete" if is_succeeded(state) else "Failed"
                text = f"Saw completed job: {job.name}, condition: {kind}"
                self._tell(record, "SawCompletedJob", text)
            ended = state.get("completionTime")
            if ended and is_succeeded(state) and ended > status.get("lastSuccessfulTime", ""):
                status["lastSuccessfulTime"] = ended
        status["active"] = active

    def _clean(self, record: ObjectRecord, status: Object, jobs: list[ObjectRecord]) -> None:
        """Delete the oldest finished Jobs beyond the history limits."""
        spec = record.body["spec"]
        ended = [job for job in jobs if is_finished(job.body.get("status") or {})]
        ended.sort(key=lambda job: (job.body["status"].get("startTime", ""), job.name))
        for good, limit in ((True, spec.get("successfulJobsHistoryLimit", 3)),
                            (False, spec.get("failedJobsHistoryLimit", 1))):  # fmt: skip
            kept = [job for job in ended if is_succeeded(job.body["status"]) == good]
            for job in kept[: max(0, len(kept) - limit)]:
                self._delete(record, status, job.namespace, job.name)

    def _delete(self, record: ObjectRecord, status: Object, namespace: str, name: str) -> None:
        if self._world.store.find("jobs", namespace, name) is not None:
            self._world.store.delete("jobs", namespace, name, propagation="Background")
        status["active"] = [entry for entry in status["active"] if entry["name"] != name]
        self._tell(record, "SuccessfulDelete", f"Deleted job {name}")

    # ---- Jobs that are due

    def _start(self, record: ObjectRecord, status: Object) -> bool:
        spec, now = record.body["spec"], self._world.now
        try:
            zone = zone_of(spec.get("timeZone"))
        except ValueError:
            name = spec["timeZone"]
            text = f'invalid timeZone: "{name}": unknown time zone {name}'
            self._tell(record, "UnknownTimeZone", text)
            return True
        try:
            schedule = parse_schedule(spec["schedule"])
        except ValueError as error:
            text = f'unparseable schedule: "{spec["schedule"]}" : {error}'
            self._tell(record, "UnparseableSchedule", text)
            return True
        self._plan(record, schedule.next_after(now, zone))
        due = self._newest_due(record, status, schedule, zone)
        if due is None:
            return True
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None and due + deadline < now:
            stamp = format_datetime(datetime.fromtimestamp(due, zone_of(None)))
            text = f"Missed scheduled time to start a job: {stamp}"
            self._tell(record, "MissSchedule", text)
            return True
        name = f"{record.name}-{int(due) // 60}"
        if status.get("lastScheduleTime") == rfc3339(due):
            return True
        policy = spec.get("concurrencyPolicy", "Allow")
        if policy == "Forbid" and status["active"]:
            text = "Not starting job because prior execution is running and concurrency policy is "
            self._tell(record, "JobAlreadyActive", f"{text}Forbid")
            return True
        if policy == "Replace":
            for entry in list(status["active"]):
                self._delete(record, status, entry["namespace"], entry["name"])
        return self._create(record, status, name, due, zone)

    def _create(
        self, record: ObjectRecord, status: Object, name: str, due: float, zone: tzinfo
    ) -> bool:
        template = record.body["spec"]["jobTemplate"]
        head = template.get("metadata") or {}
        stamp = datetime.fromtimestamp(due, zone).isoformat().replace("+00:00", "Z")
        obj = {
            "metadata": {
                "name": name,
                "labels": head.get("labels") or {},
                "annotations": {**(head.get("annotations") or {}), SCHEDULED_AT: stamp},
                "ownerReferences": [owner_reference(_RESOURCE, record)],
            },
            "spec": template["spec"],
        }
        store = self._world.store
        job = store.find("jobs", record.namespace, name)
        if job is None:
            try:
                job = store.create_record("jobs", record.namespace, obj)
            except ApiError as error:
                self._tell(record, "FailedCreate", f"Error creating job: {error.message}")
                return False
            self._tell(record, "SuccessfulCreate", f"Created job {name}")
        elif job.controller_uid() != record.uid:
            return True
        reference = {
            "kind": "Job",
            "namespace": job.namespace,
            "name": name,
            "uid": job.uid,
            "apiVersion": "batch/v1",
            "resourceVersion": str(job.resource_version),
        }
        status["active"] = [*status["active"], reference]
        status["lastScheduleTime"] = rfc3339(due)
        return True

    def _newest_due(
        self, record: ObjectRecord, status: Object, schedule: Schedule, zone: tzinfo
    ) -> float | None:
        """Return the newest time that has come since the last start, None when none has."""
        spec, now = record.body["spec"], self._world.now
        last = status.get("lastScheduleTime")
        earliest = unix(last) if last else record.created_at
        deadline = spec.get("startingDeadlineSeconds")
        if deadline is not None:
            earliest = max(earliest, now - deadline)
        if _count_missed(schedule, earliest, now, zone) > _MANY_MISSED:
            text = "too many missed start times. Set or decrease .spec.startingDeadlineSeconds or "
            self._tell(record, "TooManyMissedTimes", f"{text}check clock skew")
        for span in _SPANS_SECONDS:  # a short look back first: most schedules are frequent
            last_due = _last_before(schedule, max(earliest, now - span), now, zone)
            if last_due is not None:
                return last_due
        return None

    def _plan(self, record: ObjectRecord, due: float | None) -> None:
        if due is not None and self._due.get(record.uid) != due:
            self._due[record.uid] = due
            wait = due + _AFTER_SECONDS - self._world.now
            self._loop.note_later(wait, _RESOURCE, record.namespace, record.name)

    def _tell(self, record: ObjectRecord, reason: str, text: str) -> None:
        report(self._world, _RESOURCE, record, reason, text)


def _last_before(schedule: Schedule, start: float, now: float, zone: tzinfo) -> float | None:
    newest = None
    due = schedule.next_after(start, zone)
    while due is not None and due <= now:
        newest, due = due, schedule.next_after(due, zone)
    return newest


def _count_missed(schedule: Schedule, start: float, now: float, zone: tzinfo) -> int:
    """Count due times up to one more than is too many."""
    count, due = 0, schedule.next_after(start, zone)
    while due is not None and due <= now and count <= _MANY_MISSED:
        count, due = count + 1, schedule.next_after(due, zone)
    return count
