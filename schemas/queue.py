"""Jobs in queues as `foresail queue` sees them: each job's row, the cluster around them, and alerts about both."""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.figures import number
from schemas.model import DataModel, EventData
from schemas.numbers import Count, Ratio, Rounded, Seconds
from schemas.wording import count_text

QueueJobStatus = Literal["Succeeded", "Failed", "Running", "Suspended", "Pending", "Unknown"]
"""Suspended: held back by a queue, or by hand. Pending: may run, and no pod of it does. Both wait."""
QueueMeans = Literal["queue", "priority", "active"]
"""By which a policy acts on Kueue: another LocalQueue of a Job, a Workload's priority, or its `spec.active`."""
AlertName = Literal["high_oom_rate", "queue_congestion"]


class QueueJob(DataModel):
    """A Job of `batch/v1` at one look; amounts are of all its pods together."""

    job_id: str
    """The Job's UID."""
    name: str
    namespace: str
    status: QueueJobStatus
    submission_time_seconds: Seconds
    admission_time_seconds: Seconds | None = None
    """When its queue last let it in; None: it has no queue, or waits."""
    start_time_seconds: Seconds | None = None
    """When its first pod began to run."""
    completion_time_seconds: Seconds | None = None
    """When it came to its end, a bad one, too."""
    pods: Count = 1
    """That run at a time (spec.parallelism)."""
    cpu_request_cores: Rounded | None = None
    """None here and in the next three: no container says it."""
    memory_request_bytes: Count | None = None
    cpu_limit_cores: Rounded | None = None
    memory_limit_bytes: Count | None = None
    priority: int = 0
    """Of its Workload where a queue has it, else of its pods."""
    user_name: str = ""
    """Annotation `foresail.dev/user` or label `user`; Kubernetes does not say who made an object."""
    queue_name: str = ""
    """Label `kueue.x-k8s.io/queue-name`."""
    job_type: str = ""
    """Annotation `skrueue.ai/job-type` or label `foresail.dev/job-type`."""
    estimated_seconds: Seconds | None = None
    """What its user expects (annotation `skrueue.ai/estimated-duration`, in minutes there)."""
    scheduler: Literal["kueue", "kubernetes"] = "kubernetes"
    """Who lets it run: Kueue where it has a Workload."""
    restart_count: Count = 0
    oom_kills: Count = 0
    """Containers of its pods that were killed for want of memory, since the first look."""
    failure: str = ""
    """Reason of its condition Failed, e.g. `DeadlineExceeded`."""


class QueueJobs(EventData):
    """Jobs that are new or have changed since the last look; large looks come in several of these."""

    TYPE: ClassVar[str] = "foresail.queue.jobs.v1"
    WRITER: ClassVar[str] = "operator"
    PATTERN: ClassVar[tuple[str, ...]] = ("queue", "jobs")

    look: Count
    """Running number of the look."""
    part: Count = 0
    cluster_time_seconds: Seconds
    jobs: tuple[QueueJob, ...] = ()
    removed: tuple[str, ...] = ()
    """UIDs of Jobs that are gone."""

    def key(self) -> str:
        """Return look, time and part: a collector that starts again counts from 1."""
        return f"{self.look}/{self.cluster_time_seconds:.6f}/{self.part}"

    def line(self) -> str:
        """Return how many changed, and the first of them."""
        first = f": {self.jobs[0].name} {self.jobs[0].status}" if self.jobs else ""
        return f"{count_text(len(self.jobs), 'job')} changed, {len(self.removed)} removed{first}"


class QueueState(EventData):
    """The cluster around the queues at one look; None: nobody measured it."""

    TYPE: ClassVar[str] = "foresail.queue.state.v1"
    WRITER: ClassVar[str] = "operator"
    PATTERN: ClassVar[tuple[str, ...]] = ("queue", "state")

    look: Count
    cluster_time_seconds: Seconds
    nodes: Count
    """Ready and schedulable; the amounts below are theirs."""
    cpu_allocatable_cores: Rounded
    memory_allocatable_bytes: Count
    cpu_requested_cores: Rounded
    """Of pods that have a node and have not ended."""
    memory_requested_bytes: Count
    cpu_used_ratio: Ratio | None = None
    """Used over allocatable by the Metrics Server, over the nodes that it measured."""
    memory_used_ratio: Ratio | None = None
    jobs_suspended: Count
    jobs_pending: Count
    jobs_running: Count
    jobs_succeeded: Count
    jobs_failed: Count
    jobs_unknown: Count = 0
    pods_pending: Count
    pods_running: Count
    pods_succeeded: Count
    pods_failed: Count
    oom_kills: Count
    """Of all jobs since the first look."""
    oom_kills_last_hour: Count
    missing: tuple[str, ...] = ()
    """Sources that gave no answer."""

    @property
    def queue_length(self) -> int:
        """Jobs that wait, whoever holds them back."""
        return self.jobs_suspended + self.jobs_pending

    @property
    def jobs_total(self) -> int:
        """Jobs of every status."""
        ended = self.jobs_succeeded + self.jobs_failed + self.jobs_unknown
        return self.queue_length + self.jobs_running + ended

    def key(self) -> str:
        """Return look and time."""
        return f"{self.look}/{self.cluster_time_seconds:.6f}"

    def line(self) -> str:
        """Return the counts of jobs."""
        return (
            f"{self.queue_length} waiting, {self.jobs_running} running, {self.jobs_succeeded} succeeded,"
            f" {self.jobs_failed} failed on {count_text(self.nodes, 'node')}"
        )


class QueueAlert(EventData):
    """A figure of the queues went over its limit, or came back."""

    TYPE: ClassVar[str] = "foresail.queue.alert.v1"
    WRITER: ClassVar[str] = "operator"
    PATTERN: ClassVar[tuple[str, ...]] = ("queue", "alert")

    cluster_time_seconds: Seconds
    alert: AlertName
    state: Literal["firing", "resolved"]
    severity: Literal["warning"] = "warning"
    value: Rounded
    limit: Rounded
    """It fires above, not at it."""

    def key(self) -> str:
        """Return which alert, its state and when."""
        return f"{self.alert}/{self.state}/{self.cluster_time_seconds:.6f}"

    def line(self) -> str:
        """Return the alert with its figures."""
        relation = "above" if self.state == "firing" else "no longer above"
        return f"{self.severity} {self.alert} {self.state}: {number(self.value)} is {relation} {number(self.limit)}"


class QueuePolicy(EventData):
    """The policy that begins to decide about a queue, with its whole file, so that its choices can be made again."""

    TYPE: ClassVar[str] = "foresail.queue.policy.v1"
    WRITER: ClassVar[str] = "operator"
    PATTERN: ClassVar[tuple[str, ...]] = ("queue", "policy")

    cluster_time_seconds: Seconds
    name: str
    weights_sha256: str
    means: QueueMeans | None = None
    """By which it acts; None: it is in shadow, and Kueue decides alone."""
    why_not: str = ""
    """Why it may not act; empty: its card holds a passed gate of these weights."""
    file_base64: str

    def key(self) -> str:
        """Return whose weights, and when it began."""
        return f"{self.weights_sha256[:16]}/{self.cluster_time_seconds:.6f}"

    def line(self) -> str:
        """Return the policy, and whether it acts."""
        how = "in shadow" if self.means is None else f"acts by {self.means}"
        return f"{self.name} {how}" + (f": {self.why_not}" if self.why_not else "")


class QueueChoice(EventData):
    """What a policy chose at one look, with everything it could choose; it chooses until it waits."""

    TYPE: ClassVar[str] = "foresail.queue.choice.v1"
    WRITER: ClassVar[str] = "operator"
    PATTERN: ClassVar[tuple[str, ...]] = ("queue", "choice")

    look: Count
    """Running number of the look at the Jobs that it saw."""
    place: Count
    """Which of its choices at that look."""
    cluster_time_seconds: Seconds
    policy: str
    weights_sha256: str
    means: QueueMeans | None = None
    """By which it acts; None: in shadow."""
    quota_cpu_cores: Rounded
    """Of the ClusterQueue, less what others hold of it."""
    quota_memory_bytes: Count
    left_out: tuple[str, ...] = ()
    """Jobs that somebody else holds back."""
    slots: tuple[str, ...]
    """Jobs that it could choose, in Kueue's order; an action beyond them is to wait, or means nothing."""
    allowed: tuple[bool, ...]
    """The mask, an entry for each action."""
    scores: tuple[Rounded, ...]
    """One for each action."""
    action: Count
    runner_up: Count | None = None
    """The best of the other actions that might have been taken; None: nothing else might."""
    admits: str | None = None
    """The Job that it admits; None: it waits."""

    def key(self) -> str:
        """Return look, time and place."""
        return f"{self.look}/{self.cluster_time_seconds:.6f}/{self.place}"

    def name_of(self, action: int) -> str:
        """Return an action in words: the Job in its slot, or waiting."""
        return self.slots[action] if action < len(self.slots) else "waiting"

    def line(self) -> str:
        """Return whom it admits, by how much, and whom it could have."""
        verb = "would admit" if self.means is None else "admits"
        what = "waits" if self.admits is None else f"{verb} {self.admits}"
        margin = ""
        if self.runner_up is not None:
            ahead = number(self.scores[self.action] - self.scores[self.runner_up])
            margin = f", {ahead} ahead of {self.name_of(self.runner_up)}"
        waiting = ", ".join(self.slots)
        return f"{self.policy} {what}{margin}; in its slots: {waiting}"


class QueueScore(EventData):
    """What a policy would have made of the Jobs so far, beside what became of them under whoever acted.

    The policy plays the same Jobs, at the times they came, in the model that it was trained in: with the times that
    they truly took where they have ended, with their users' estimates elsewhere. Every Job counts, one that still waits
    with its wait until now.
    """

    TYPE: ClassVar[str] = "foresail.queue.score.v1"
    WRITER: ClassVar[str] = "operator"
    PATTERN: ClassVar[tuple[str, ...]] = ("queue", "score")

    look: Count
    cluster_time_seconds: Seconds
    policy: str
    acts: bool
    """Whether it is the policy itself that acted."""
    jobs: Count
    acted_slowdown: Rounded
    """Mean bounded slowdown."""
    policy_slowdown: Rounded
    acted_wait_seconds: Rounded
    """Mean."""
    policy_wait_seconds: Rounded
    acted_admitted: Count
    policy_admitted: Count

    def key(self) -> str:
        """Return look and time."""
        return f"{self.look}/{self.cluster_time_seconds:.6f}"

    def line(self) -> str:
        """Return both figures."""
        return (
            f"of {count_text(self.jobs, 'job')}: slowdown {number(self.acted_slowdown)} as it went, "
            f"{number(self.policy_slowdown)} by {self.policy} in the model"
        )
