"""A policy that decides about a cluster's own queue: what it would admit. Pure.

The stream is what the cluster holds: every Job of the namespace that waits, runs or has ended is one of its jobs, with
what its user says of it; nobody knows how long it truly takes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lab.learning.comparison.learned_rule import ExportedRule
from lab.learning.jobs import MILLICORES_PER_CORE, Amounts, Job, JobStream
from lab.queue.view import QueueView
from schemas.queue import QueueChoice, QueueJob, QueueMeans
from services.learned_policy.choice import Choice

UNKNOWN_SECONDS = 1_800.0
"""Of a Job whose user gives no estimate."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a policy is asked at one look, beside the Jobs."""

    look: int
    now_seconds: float
    """The cluster's time."""
    quota: Amounts
    """What the queue may hand out (`capacity.quota_left`)."""
    means: QueueMeans | None = None
    """By which it acts; None: it is in shadow."""
    left_out: tuple[str, ...] = ()
    """Names of Jobs that somebody else holds back."""


@dataclass(frozen=True, slots=True)
class Consideration:
    """What a policy saw and chose at one moment."""

    slots: tuple[str, ...]
    """Names of the Jobs that it could choose, in Kueue's order."""
    choice: Choice
    admits: str | None
    """Whom it admits; None: it waits, or chose somebody who does not fit now."""


def stream_of(rows: Iterable[QueueJob], quota: Amounts, begin_seconds: float) -> JobStream:
    """Return a cluster's Jobs as a stream; those that no queue has are left out.

    Args:
        rows: of the Jobs.
        quota: of the ClusterQueue.
        begin_seconds: the cluster's time that arrivals are counted from.
    """
    jobs = [
        Job(
            name=row.name,
            arrival_seconds=row.submission_time_seconds - begin_seconds,
            requests=Amounts(
                round(MILLICORES_PER_CORE * (row.cpu_request_cores or 0.0)),
                row.memory_request_bytes or 0,
            ),
            estimate_seconds=row.estimated_seconds or UNKNOWN_SECONDS,
            true_seconds=row.estimated_seconds or UNKNOWN_SECONDS,
            priority=row.priority,
            kind=row.job_type,
            pods=row.pods,
        )
        for row in rows
        if row.queue_name
    ]
    jobs.sort(key=lambda job: (job.arrival_seconds, job.name))
    return JobStream("cluster", tuple(jobs), quota)


def considerations(
    rule: ExportedRule, jobs: Iterable[QueueJob], asked: Asked
) -> Iterator[Consideration]:
    """Yield what a policy chooses now, one after the other until it waits; the last one is the wait.

    Args:
        rule: of the policy.
        jobs: rows of the newest look.
        asked: what else it has to know.
    """
    rows = {row.name: row for row in jobs if row.name not in asked.left_out}
    stream = stream_of(rows.values(), asked.quota, 0.0)
    view = QueueView(stream, rows, asked.now_seconds, 0.0, moves=asked.means == "queue")
    while view.pending_count:
        considered = rule.consider(view)
        names = tuple(stream.jobs[index].name for index in considered.jobs)
        admits = considered.admits
        if admits is None or not view.admit(admits):
            yield Consideration(names, considered.choice, None)
            return
        yield Consideration(names, considered.choice, stream.jobs[admits].name)


def choices_of(rule: ExportedRule, jobs: Iterable[QueueJob], asked: Asked) -> list[QueueChoice]:
    """Return what a policy chooses now, as events."""
    card = rule.policy.card
    return [
        QueueChoice(
            look=asked.look,
            place=place,
            cluster_time_seconds=asked.now_seconds,
            policy=card.name,
            weights_sha256=card.weights_sha256,
            means=asked.means,
            quota_cpu_cores=asked.quota.cpu_millicores / MILLICORES_PER_CORE,
            quota_memory_bytes=asked.quota.memory_bytes,
            left_out=asked.left_out,
            slots=one.slots,
            allowed=one.choice.allowed,
            scores=one.choice.scores,
            action=one.choice.action,
            runner_up=one.choice.runner_up,
            admits=one.admits,
        )
        for place, one in enumerate(considerations(rule, jobs, asked))
    ]


def asked_again(choice: QueueChoice) -> Asked:
    """Return what the policy was asked when it made a stored choice."""
    quota = Amounts(round(MILLICORES_PER_CORE * choice.quota_cpu_cores), choice.quota_memory_bytes)
    return Asked(choice.look, choice.cluster_time_seconds, quota, choice.means, choice.left_out)
