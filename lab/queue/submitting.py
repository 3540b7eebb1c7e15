"""Submitting a stream of jobs to a cluster at their times, and taking them away again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from inputs.quantities import cpu_text, memory_text
from lab.learning.jobs import Job
from lab.queue.manifests import LOCAL_QUEUE, MANAGED_BY, OWNER, Manifest, priority_class
from lab.queue.objects import CLASS_LABEL, ESTIMATE, QUEUE_LABEL, TYPE_ANNOTATION
from schemas.wording import count_text
from services.cluster import ClusterRefused, Transport

IMAGE = "busybox:1.36"
BACKOFF_LIMIT = 2
"""`backoffLimit` of the predecessors' Jobs."""


def job_manifest(job: Job, namespace: str, *, queue: str | None = LOCAL_QUEUE) -> Manifest:
    """Return a Job of `batch/v1` that holds its requests for its true time; each pod a share of them.

    Args:
        job: what to run.
        namespace: where.
        queue: LocalQueue that it waits in, suspended; None: plain Kubernetes, at once.
    """
    requests = {
        "cpu": cpu_text(job.requests.cpu_millicores // job.pods),
        "memory": memory_text(job.requests.memory_bytes // job.pods),
    }
    labels = {MANAGED_BY: OWNER}
    if queue is not None:
        labels |= {QUEUE_LABEL: queue, CLASS_LABEL: priority_class(job.priority)}
    ends_well = job.outcome == 0
    command = f"sleep {job.true_seconds:.3f}" + ("" if ends_well else "; exit 1")
    container = {
        "name": "worker",
        "image": IMAGE,
        "command": ["sh", "-c", command] if not ends_well else command.split(),
        "resources": {"requests": requests, "limits": requests},
    }
    spec: dict[str, Any] = {
        "suspend": queue is not None,
        "parallelism": job.pods,
        "completions": job.pods,
        "backoffLimit": BACKOFF_LIMIT if ends_well else 0,
        "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
    }
    if job.deadline_seconds != math.inf:
        spec["activeDeadlineSeconds"] = round(job.deadline_seconds)
    notes = {
        ESTIMATE: f"{job.estimate_seconds / 60:g}",
        TYPE_ANNOTATION: job.kind,
    }
    head = {"name": job.name, "namespace": namespace, "labels": labels, "annotations": notes}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": spec}


class Submitter:
    """Submits each job once its time has come; every one is counted as accepted or refused."""

    def __init__(self, jobs: Sequence[Job], namespace: str, *, queue: str | None) -> None:
        """Take jobs in order of arrival; see `job_manifest`."""
        self._jobs, self._namespace, self._queue = jobs, namespace, queue
        self._next = 0
        self.accepted: dict[str, Job] = {}
        """By name."""
        self.refused: dict[str, str] = {}
        """Name of each job that the cluster refused, and why."""

    def due(self, begin_seconds: float) -> float:
        """Return when the next job is to come; infinity: all have."""
        if self._next >= len(self._jobs):
            return math.inf
        return begin_seconds + self._jobs[self._next].arrival_seconds

    async def submit(self, transport: Transport, begin_seconds: float, now: float) -> None:
        """Submit every job whose time has come.

        Raises:
            ClusterUnavailable: no answer; that job is tried again at the next call.
        """
        path = f"/apis/batch/v1/namespaces/{self._namespace}/jobs"
        while self.due(begin_seconds) <= now:
            job = self._jobs[self._next]
            body = job_manifest(job, self._namespace, queue=self._queue)
            try:
                await transport.request("POST", path, None, body)
            except ClusterRefused as error:
                if error.reason != "AlreadyExists" or job.name in self.accepted:
                    self.refused[job.name] = error.message
                else:  # the answer to an earlier try was lost
                    self.accepted[job.name] = job
            else:
                self.accepted[job.name] = job
            self._next += 1

    async def remove(self, transport: Transport) -> None:
        """Delete what was submitted, with its pods; raises ClusterUnavailable."""
        await remove_jobs(transport, self._namespace, self.accepted)

    def line(self) -> str:
        """Return how many jobs came and were refused."""
        waiting = len(self._jobs) - self._next
        return (
            f"{count_text(len(self.accepted), 'job')} submitted, {len(self.refused)} refused,"
            f" {waiting} not yet due"
        )


async def remove_jobs(transport: Transport, namespace: str, names: Iterable[str]) -> None:
    """Delete Jobs with their pods; one that is gone is passed over. Raises ClusterUnavailable."""
    query: Mapping[str, str] = {"propagationPolicy": "Background"}
    for name in names:
        path = f"/apis/batch/v1/namespaces/{namespace}/jobs/{name}"
        try:
            await transport.request("DELETE", path, query)
        except ClusterRefused as error:
            if error.status != 404:
                raise
