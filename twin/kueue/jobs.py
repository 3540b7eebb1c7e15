"""Jobs of a queue: each has a Workload, runs while that is admitted, and is suspended otherwise.

Each look does one step. Source: tasks/run/jobs.md, concepts/workload.md, concepts/workload_priority_class.md.
"""

from __future__ import annotations

import hashlib
import json

from twin.controllers.job_status import is_finished, is_succeeded
from twin.errors import ApiError
from twin.kueue.client import KueueClient
from twin.kueue.conditions import set_admitted
from twin.kueue.objects import (
    API_VERSION,
    CLASS_LABEL,
    CLASSES,
    GROUP,
    IN_USE,
    JOB_UID_LABEL,
    LEAST_PODS,
    LONGEST_RUN_LABEL,
    POD_SET,
    QUEUE_LABEL,
    WORKLOADS,
    condition,
    find_row,
    is_reserving,
    is_true,
    mark,
)
from twin.records import Object, ObjectRecord

_OF_CONTROLLER = ("controller-uid", "batch.kubernetes.io/controller-uid", "job-name")
"""Labels of the template that the job controller gives it."""
_LONGEST_NAME = 63 - 6
_SYSTEM = "PriorityClass"
_REQUEUED = ("Preempted", "NodeFailures")
"""Evictions after which a Workload is queued at once."""


class Jobs:
    """Looks at Jobs one at a time."""

    def __init__(self, client: KueueClient) -> None:
        """Write by a client."""
        self._client = client

    def managed(self, job: ObjectRecord) -> bool:
        """Say whether a Job is Kueue's business."""
        config = self._client.config
        if job.namespace in config.unmanaged_namespaces:
            return False
        return config.every_job or bool(job.labels.get(QUEUE_LABEL))

    def look(self, job: ObjectRecord) -> None:
        """Bring one Job a step on."""
        if job.deletion_at is not None or not self.managed(job):
            return
        workload = self._client.workload_of(job)
        if workload is None:
            self._begin(job)
        elif workload.deletion_at is not None:
            if self._stop(job, workload, "Workload is deleted"):
                self._client.release(WORKLOADS, workload, IN_USE)
        elif is_true(workload, "Finished"):
            self._client.release(WORKLOADS, workload, IN_USE)
        elif is_finished(job.body.get("status") or {}):
            self._finish(job, workload)
        elif not self._note_pods(job, workload):
            self._steer(job, workload)

    def _steer(self, job: ObjectRecord, workload: ObjectRecord) -> None:
        """Let a Job run, or stop it, as its Workload says."""
        evicted = condition(workload, "Evicted")
        if evicted is not None and evicted["status"] == "True":
            if not self._stop(job, workload, evicted["message"]):
                return
            running = (job.body.get("status") or {}).get("active", 0)
            if is_true(workload, "QuotaReserved") and not running:
                self._give_back(workload, evicted)
            elif not is_true(workload, "QuotaReserved"):
                self._follow_job(job, workload)
        elif job.body["spec"].get("suspend"):
            if is_true(workload, "Admitted"):
                self._start(job, workload)
            elif not is_reserving(workload):
                self._follow_job(job, workload)
        elif not is_true(workload, "Admitted"):
            self._stop(job, workload, "Not admitted by cluster queue")

    # ---- its Workload

    def _begin(self, job: ObjectRecord) -> None:
        """Suspend a Job that has no Workload yet, and make it one."""
        if is_finished(job.body.get("status") or {}):
            return
        if not job.body["spec"].get("suspend"):
            self._client.set_spec("jobs", job, suspend=True)
            return
        if not job.labels.get(QUEUE_LABEL):
            return  # held until somebody says where it belongs
        priority = self._priority(job)
        if priority is None:
            return
        try:
            made = self._client.create(WORKLOADS, job.namespace, self._new_workload(job, priority))
        except ApiError:
            return
        place = f"{made.namespace}/{made.name}"
        self._client.report(job, "Job", "CreatedWorkload", f"Created Workload: {place}")

    def _new_workload(self, job: ObjectRecord, priority: Object) -> Object:
        spec: Object = {
            "active": True,
            "queueName": job.labels[QUEUE_LABEL],
            "podSets": [_pod_set(job)],
            **priority,
        }
        longest = job.labels.get(LONGEST_RUN_LABEL, "")
        if longest.isdecimal() and int(longest):
            spec["maximumExecutionTimeSeconds"] = int(longest)
        owner: Object = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "name": job.name,
            "uid": job.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }
        head: Object = {
            "name": workload_name(job),
            "labels": {JOB_UID_LABEL: job.uid},
            "ownerReferences": [owner],
            "finalizers": [IN_USE],
        }
        return {"apiVersion": API_VERSION, "kind": "Workload", "metadata": head, "spec": spec}

    def _priority(self, job: ObjectRecord) -> Object | None:
        """Return priority and class of a Job's Workload; None when its class does not exist."""
        name = job.labels.get(CLASS_LABEL)
        if name:
            found = self._client.find(CLASSES, "", name)
            if found is None:
                why = f'WorkloadPriorityClass "{name}" not found'
                self._client.report(job, "Job", "WorkloadPriorityClassNotFound", why)
                return None
            reference = {"group": GROUP, "kind": "WorkloadPriorityClass", "name": name}
            return {"priorityClassRef": reference, "priority": found.body.get("value", 0)}
        name = job.body["spec"]["template"]["spec"].get("priorityClassName") or ""
        classes = {record.name: record.body for record in self._client.all("priorityclasses")}
        if not name:
            usual = [n for n, body in sorted(classes.items()) if body.get("globalDefault")]
            name = usual[0] if usual else ""
        if name not in classes:
            return {"priority": 0}
        reference = {"group": "scheduling.k8s.io", "kind": _SYSTEM, "name": name}
        return {"priorityClassRef": reference, "priority": classes[name].get("value", 0)}

    def _follow_job(self, job: ObjectRecord, workload: ObjectRecord) -> None:
        """Take over what was changed in a Job that waits: its queue, class and pods."""
        spec = workload.body["spec"]
        wanted: Object = {"queueName": job.labels.get(QUEUE_LABEL, spec.get("queueName"))}
        if job.labels.get(CLASS_LABEL, "") != _class_of(workload):
            priority = self._priority(job)
            if priority is not None:
                wanted |= priority
        if "startTime" not in (job.body.get("status") or {}):
            pod_set = _pod_set(job)
            if pod_set != spec["podSets"][0]:
                wanted["podSets"] = [pod_set]
        if any(spec.get(name) != value for name, value in wanted.items()):
            self._client.set_spec(WORKLOADS, workload, **wanted)

    def _finish(self, job: ObjectRecord, workload: ObjectRecord) -> None:
        done = job.body.get("status") or {}
        ended = [c for c in done["conditions"] if c["type"] in ("Complete", "Failed")]
        status = dict(workload.body.get("status") or {})
        reason = "Succeeded" if is_succeeded(done) else "Failed"
        message = ended[-1].get("message", "")
        mark(status, "Finished", True, reason, message, self._client.stamp, workload.generation)
        self._client.set_status(WORKLOADS, workload, status)
        place = f"{workload.namespace}/{workload.name}"
        self._client.report(
            job, "Job", "FinishedWorkload", f"Workload '{place}' is declared finished"
        )

    def _note_pods(self, job: ObjectRecord, workload: ObjectRecord) -> bool:
        """Write what a Job's pods say: which are not needed any more, and whether they are ready."""
        status = dict(workload.body.get("status") or {})
        spare = _reclaimable(job)
        known = find_row(status.get("reclaimablePods"), POD_SET)
        most = workload.body["spec"]["podSets"][0]["count"]
        if is_true(workload, "QuotaReserved") and known is not None:
            spare = max(spare, known["count"])
        spare = min(spare, most)
        if spare:
            status["reclaimablePods"] = [{"name": POD_SET, "count": spare}]
        else:
            status.pop("reclaimablePods", None)
        if self._client.config.pods_ready is not None:
            self._note_ready(job, workload, status)
        return self._client.set_status(WORKLOADS, workload, status)

    def _note_ready(self, job: ObjectRecord, workload: ObjectRecord, status: Object) -> None:
        counts, spec = job.body.get("status") or {}, job.body["spec"]
        needed = _pods_at_once(job)
        ready = counts.get("ready", 0) + counts.get("succeeded", 0) >= needed
        before = condition(workload, "PodsReady")
        lost = before is not None and before["reason"] in ("WaitForRecovery", "Recovered")
        if not is_true(workload, "Admitted"):
            found = (False, "WaitForStart", "Not all pods are ready or succeeded")
        elif ready and not spec.get("suspend"):
            reason = "Recovered" if lost else "Started"
            found = (True, reason, "All pods reached readiness and the workload is running")
        elif before is not None and (
            before["status"] == "True" or before["reason"] == "WaitForRecovery"
        ):
            why = "At least one pod has failed, waiting for recovery"
            found = (False, "WaitForRecovery", why)
        else:
            found = (False, "WaitForStart", "Not all pods are ready or succeeded")
        if before is None or (before["status"], before["reason"]) != (str(found[0]), found[1]):
            mark(status, "PodsReady", *found, self._client.stamp, workload.generation)

    # ---- running and stopping

    def _give_back(self, workload: ObjectRecord, evicted: Object) -> None:
        """Take the quota of an evicted Workload, now that nothing of its Job runs."""
        status, now = dict(workload.body.get("status") or {}), self._client.stamp
        reason, message = evicted["reason"], evicted["message"]
        again = reason in _REQUEUED
        cause = reason.partition("DueTo")[0]
        mark(status, "Requeued", again, cause, message, now, workload.generation)
        mark(status, "QuotaReserved", False, "PendingEvaluation", message, now, workload.generation)
        status.pop("admission", None)
        set_admitted(status, now, workload.generation)
        self._client.set_status(WORKLOADS, workload, status)

    def _start(self, job: ObjectRecord, workload: ObjectRecord) -> None:
        """Let a Job run on the nodes of its flavors."""
        status = workload.body["status"]
        row = status["admission"]["podSetAssignments"][0]
        template = job.body["spec"]["template"]
        head, spec = dict(template.get("metadata") or {}), dict(template["spec"])
        for update in self._updates(row, status):
            for field in ("labels", "annotations"):
                if update.get(field):
                    head[field] = {**(head.get(field) or {}), **update[field]}
            selector = {**(update.get("nodeSelector") or {}), **(spec.get("nodeSelector") or {})}
            if selector:
                spec["nodeSelector"] = selector
            known = list(spec.get("tolerations") or ())
            known += [one for one in update.get("tolerations") or () if one not in known]
            if known:
                spec["tolerations"] = known
        fields: Object = {
            "suspend": False,
            "template": {**template, "metadata": head, "spec": spec},
        }
        if LEAST_PODS in job.annotations:
            fields["parallelism"] = row["count"]
        if self._client.set_spec("jobs", job, **fields):
            queue = status["admission"]["clusterQueue"]
            self._client.report(job, "Job", "Started", f"Admitted by clusterQueue {queue}")

    def _updates(self, row: Object, status: Object) -> list[Object]:
        """Return what flavors and admission checks add to the pods."""
        found: list[Object] = []
        for name in sorted(set((row.get("flavors") or {}).values())):
            flavor = self._client.flavor(name)
            spec = {} if flavor is None else flavor.body.get("spec") or {}
            found.append(
                {"nodeSelector": spec.get("nodeLabels"), "tolerations": spec.get("tolerations")}
            )
        for check in status.get("admissionChecks") or ():
            found += [u for u in check.get("podSetUpdates") or () if u["name"] == row["name"]]
        return found

    def _stop(self, job: ObjectRecord, workload: ObjectRecord, why: str) -> bool:
        """Suspend a Job, and give its template back what it was before it ran; says whether that is
        done.
        """
        if not job.body["spec"].get("suspend"):
            if self._client.set_spec("jobs", job, suspend=True):
                self._client.report(job, "Job", "Stopped", why)
            return False
        status = dict(job.body.get("status") or {})
        if status.pop("startTime", None) is not None:
            self._client.set_status("jobs", job, status)
        pod_set = workload.body["spec"]["podSets"][0]
        fields: Object = {"template": _restored(job.body["spec"]["template"], pod_set["template"])}
        if LEAST_PODS in job.annotations:
            fields["parallelism"] = pod_set["count"]
        if any(job.body["spec"].get(name) != value for name, value in fields.items()):
            self._client.set_spec("jobs", job, **fields)
            return False
        return True


def workload_name(job: ObjectRecord) -> str:
    """Return the name of a Job's Workload: kind, name, and five hexadecimal digits of who it is."""
    text = f"Job\nbatch\n{job.name}\n{job.uid}".encode()
    digits = hashlib.sha1(text, usedforsecurity=False).hexdigest()[:5]
    return f"{f'job-{job.name}'[:_LONGEST_NAME]}-{digits}"


def _class_of(workload: ObjectRecord) -> str:
    reference = workload.body["spec"].get("priorityClassRef") or {}
    return str(reference["name"]) if reference.get("kind") == "WorkloadPriorityClass" else ""


def _pods_at_once(job: ObjectRecord) -> int:
    spec = job.body["spec"]
    at_once, most = int(spec["parallelism"]), spec.get("completions")
    return at_once if most is None else min(at_once, int(most))


def _pod_set(job: ObjectRecord) -> Object:
    """Return the pod set of a Job that has not been changed for a flavor."""
    template = json.loads(json.dumps(job.body["spec"]["template"]))
    labels = (template.get("metadata") or {}).get("labels") or {}
    for name in _OF_CONTROLLER:
        labels.pop(name, None)
    pod_set: Object = {"name": POD_SET, "count": _pods_at_once(job), "template": template}
    least = job.annotations.get(LEAST_PODS, "")
    if least.isdecimal() and 0 < int(least) < pod_set["count"]:
        pod_set["minCount"] = int(least)
    return pod_set


def _restored(template: Object, first: Object) -> Object:
    """Return a Job's template with the labels, annotations and directives that it began with."""
    head, began = dict(template.get("metadata") or {}), first.get("metadata") or {}
    given = head.get("labels") or {}
    kept = {name: given[name] for name in _OF_CONTROLLER if name in given}
    for field, value in (
        ("labels", {**(began.get("labels") or {}), **kept}),
        ("annotations", began.get("annotations") or {}),
    ):
        if value:
            head[field] = value
        else:
            head.pop(field, None)
    spec = dict(template["spec"])
    for field in ("nodeSelector", "tolerations"):
        if field in first["spec"]:
            spec[field] = first["spec"][field]
        else:
            spec.pop(field, None)
    return {**template, "metadata": head, "spec": spec}


def _reclaimable(job: ObjectRecord) -> int:
    """Return how many of a Job's pods at once will never be needed again."""
    spec, done = job.body["spec"], (job.body.get("status") or {}).get("succeeded", 0)
    at_once = spec["parallelism"]
    if at_once <= 1 or not done:
        return 0
    total = spec.get("completions")
    left = max(0, (at_once if total is None else total) - done)
    return max(0, int(at_once - left))
