"""What a Job waits for: to be let go, room for its pods, the next attempt after a failure, its pods' programs.

After the Job controller (kubernetes/kubernetes pkg/controller/job, 1.36).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lab.explanations.frozen_cluster import Object, unix_seconds
from lab.explanations.refused_pods import refusals
from lab.explanations.waits import Surroundings, Wait, Words, changed_seconds, condition, set_by
from schemas.wording import count_text

QUEUE_LABEL = "kueue.x-k8s.io/queue-name"
OWN_CONTROLLER = "kubernetes.io/job-controller"
BACK_OFF_SECONDS, MOST_BACK_OFF_SECONDS = 10.0, 600.0
"""DefaultJobPodFailureBackOff and MaxJobPodFailureBackOff."""


def job_waits(job: Object, pods: Sequence[Object], around: Surroundings) -> Iterator[Wait]:
    """Yield what a Job itself waits for, besides its pods."""
    if ended := _ended(job):
        yield ended
        return
    spec = job["spec"]
    manager = spec.get("managedBy") or OWN_CONTROLLER
    if manager != OWN_CONTROLLER:
        yield Wait("controller", f"{manager} looks after it, not the Job controller", who=manager)
    if spec.get("suspend"):
        yield _suspended(job)
        return
    if _active(job) >= _wanted(job):
        yield from _deadline(job)
        return
    yield from _next_attempt(job, pods, around)
    yield from refusals(job, around)
    yield from _deadline(job)


def job_state(job: Object) -> str:
    """Return how far a Job is, in a few words."""
    status, spec = job.get("status") or {}, job["spec"]
    done = int(status.get("succeeded") or 0)
    of = "" if spec.get("completions") is None else f" of {spec['completions']}"
    failed = int(status.get("failed") or 0)
    return f"{done}{of} done, {_active(job)} running or starting, {failed} failed"


def _ended(job: Object) -> Wait | None:
    for kind in ("Complete", "Failed"):
        found = condition(job, kind)
        if found is not None and found["status"] == "True":
            reason = f" ({found['reason']})" if found.get("reason") else ""
            words = Words(str(found["message"])) if found.get("message") else None
            text = f"it has ended: {kind}{reason}; a Job that has ended does not start again"
            who = "who makes another of it"
            return Wait("end", text, changed_seconds(found), who=who, words=words)
    return None


def _suspended(job: Object) -> Wait:
    since = changed_seconds(condition(job, "Suspended"))
    queue = (job["metadata"].get("labels") or {}).get(QUEUE_LABEL)
    if queue:
        text = f"it is suspended until Kueue admits it in queue {queue}"
        return Wait("suspended", text, since, who=f"Kueue, and the quota behind queue {queue}")
    who = set_by(job, ("f:spec", "f:suspend"))
    return Wait("suspended", "it is suspended", since, who=f"spec.suspend of {who}")


def _next_attempt(job: Object, pods: Sequence[Object], around: Surroundings) -> Iterator[Wait]:
    """Yield the pause after failures: 10 s, and twice as long for each further one in a row, at most 10 min."""
    succeeded = max((_finish(pod) for pod in pods if _phase(pod) == "Succeeded"), default=0.0)
    failures = [_finish(pod) for pod in pods if _phase(pod) == "Failed"]
    in_a_row = [at for at in failures if at > succeeded]
    if not in_a_row:
        return
    last = max(in_a_row)
    delay = min(BACK_OFF_SECONDS * 2.0 ** (len(in_a_row) - 1), MOST_BACK_OFF_SECONDS)
    if last + delay <= around.now_seconds:
        return
    limit = job["spec"].get("backoffLimit", 6)
    text = (
        f"{count_text(len(in_a_row), 'pod')} of it failed in a row (at most {limit} may in all): the next comes "
        "after a pause"
    )
    who = "its program, or backoffLimit and podFailurePolicy of Job " + job["metadata"]["name"]
    yield Wait("program", text, last, last + delay, who)


def _deadline(job: Object) -> Iterator[Wait]:
    limit = job["spec"].get("activeDeadlineSeconds")
    began = unix_seconds((job.get("status") or {}).get("startTime"))
    if limit is None or began is None:
        return
    who = set_by(job, ("f:spec", "f:activeDeadlineSeconds"))
    text = "its time is bounded: what is not done then is stopped"
    yield Wait("deadline", text, began, began + float(limit), f"activeDeadlineSeconds of {who}")


def _active(job: Object) -> int:
    return int((job.get("status") or {}).get("active") or 0)


def _wanted(job: Object) -> int:
    spec = job["spec"]
    parallel = int(spec.get("parallelism", 1))
    if spec.get("completions") is None:
        return parallel
    left = int(spec["completions"]) - int((job.get("status") or {}).get("succeeded") or 0)
    return min(parallel, left)


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _finish(pod: Object) -> float:
    """Return when a pod's last container ended, unix seconds; 0 where nothing says so."""
    ends = (
        unix_seconds(((one.get("state") or {}).get("terminated") or {}).get("finishedAt"))
        for one in (pod.get("status") or {}).get("containerStatuses") or ()
    )
    return max((end for end in ends if end is not None), default=0.0)
