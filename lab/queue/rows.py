"""A Job, its pods and its Workload as one row: status, times, amounts and what went wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from inputs.plain_numbers import parse_number
from lab.queue.objects import (
    ESTIMATE,
    QUEUE_LABEL,
    TYPE_ANNOTATION,
    TYPE_LABEL,
    USER,
    USER_LABEL,
    BatchJob,
    Workload,
)
from schemas.queue import QueueJob, QueueJobStatus
from services.kube_objects import CPU, MEMORY, Condition, ContainerStatus, Pod, parse_time
from services.pod_requests import template_amount

OOM = "OOMKilled"
Kill = tuple[str, str, str]
"""Pod, container and when: one container killed for want of memory."""


def job_row(
    job: BatchJob,
    pods: Sequence[Pod] | None,
    workload: Workload | None,
    before: QueueJob | None,
    oom_kills: int,
) -> QueueJob:
    """Return a Job's row; pods that are gone are remembered by the row of the look before.

    `pods` None: nobody could read them.

    Raises:
        ValueError: an amount or a time of the Job cannot be read.
    """
    head, spec = job.metadata, job.spec
    end = job.end()
    notes, labels = head.annotations, head.labels
    restarts = sum(pod.restarts for pod in pods or ())
    return QueueJob(
        job_id=head.uid,
        name=head.name,
        namespace=head.namespace,
        status=status_of(job, pods),
        submission_time_seconds=parse_time(head.creation_timestamp or ""),
        admission_time_seconds=_admitted(workload, before),
        start_time_seconds=_started(pods or (), before),
        completion_time_seconds=_ended(job, end),
        pods=spec.parallelism,
        cpu_request_cores=_cores(job, "requests"),
        memory_request_bytes=_bytes(job, "requests"),
        cpu_limit_cores=_cores(job, "limits"),
        memory_limit_bytes=_bytes(job, "limits"),
        priority=spec.template.spec.priority if workload is None else workload.own_priority,
        user_name=notes.get(USER) or labels.get(USER_LABEL, ""),
        queue_name=labels.get(QUEUE_LABEL, ""),
        job_type=notes.get(TYPE_ANNOTATION) or labels.get(TYPE_LABEL, ""),
        estimated_seconds=_estimate(notes.get(ESTIMATE)),
        scheduler="kubernetes" if workload is None else "kueue",
        restart_count=max(restarts, before.restart_count if before else 0),
        oom_kills=oom_kills,
        failure=end.reason if end is not None and end.type == "Failed" else "",
    )


def status_of(job: BatchJob, pods: Iterable[Pod] | None) -> QueueJobStatus:
    """Return which of the six statuses a Job has; one that nobody holds back and no pod runs of is Pending."""
    end = job.end()
    if end is not None:
        return "Succeeded" if end.type == "Complete" else "Failed"
    if pods is None:
        return "Suspended" if job.spec.suspend else "Unknown"
    phases = {pod.status.phase for pod in pods}
    if "Running" in phases:
        return "Running"
    if job.spec.suspend:
        return "Suspended"
    return "Unknown" if phases == {"Unknown"} else "Pending"


def kills_of(pod: Pod) -> Iterator[Kill]:
    """Yield each kill for want of memory that a pod still shows: of now, and the one before."""
    statuses: tuple[ContainerStatus, ...] = (
        *pod.status.init_container_statuses,
        *pod.status.container_statuses,
    )
    for status in statuses:
        for state in (status.state, status.last_state):
            if state.terminated is not None and state.terminated.reason == OOM:
                yield pod.metadata.uid, status.name, state.terminated.finished_at or ""


def _admitted(workload: Workload | None, before: QueueJob | None) -> float | None:
    admitted = None if workload is None else workload.condition("Admitted")
    if admitted is not None and admitted.status == "True" and admitted.last_transition_time:
        return parse_time(admitted.last_transition_time)
    finished = workload is None or workload.holds("Finished")
    return before.admission_time_seconds if before is not None and finished else None


def _started(pods: Iterable[Pod], before: QueueJob | None) -> float | None:
    """Return when the first pod ran; a Job's own startTime is when it might have, which is not the same."""
    times = [
        parse_time(pod.status.start_time)
        for pod in pods
        if pod.status.start_time and pod.status.phase != "Pending"
    ]
    if before is not None and before.start_time_seconds is not None:
        times.append(before.start_time_seconds)
    return min(times, default=None)


def _ended(job: BatchJob, end: Condition | None) -> float | None:
    if end is None:
        return None
    text = job.status.completion_time or end.last_transition_time
    return parse_time(text) if text else None


def _amount(job: BatchJob, name: str, field: str) -> Decimal | None:
    spec = job.spec.template.spec
    said = [one.resources for one in (*spec.containers, *spec.init_containers)]
    if spec.resources is not None:
        said.append(spec.resources)
    if not any(name in getattr(one, field) for one in said):
        return None
    of_pod = template_amount(spec, name, "limits" if field == "limits" else "requests")
    return of_pod * job.spec.parallelism


def _cores(job: BatchJob, field: str) -> float | None:
    amount = _amount(job, CPU, field)
    return None if amount is None else float(amount)


def _bytes(job: BatchJob, field: str) -> int | None:
    amount = _amount(job, MEMORY, field)
    return None if amount is None else int(amount)


def _estimate(text: str | None) -> float | None:
    """Return seconds of the annotation's minutes; None where it is no number."""
    try:
        return None if text is None else 60.0 * parse_number(text)
    except ValueError:
        return None
