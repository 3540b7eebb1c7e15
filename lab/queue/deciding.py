"""A policy that decides about a cluster's own queue: what it would admit, and doing it.

The stream is what the cluster holds: every Job of the namespace that waits, runs or has ended is one of its jobs, with
what its user says of it; nobody knows how long it truly takes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from lab.learning.jobs import MILLICORES_PER_CORE, Amounts, Job, JobStream
from lab.queue.policies import choice_of
from lab.queue.samples import QueueLedger
from lab.queue.view import QueueView
from schemas.queue import QueueJob
from services.learned_policy.choice import Choice, LearnedPolicy

UNKNOWN_SECONDS = 1_800.0
"""Of a Job whose user gives no estimate."""


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
    policy: LearnedPolicy, ledger: QueueLedger, quota: Amounts, now_seconds: float
) -> list[Consideration]:
    """Return what a policy chooses now, one after the other until it waits; the last one is the wait.

    Args:
        policy: trained to admit jobs.
        ledger: of the newest sample.
        quota: of the ClusterQueue.
        now_seconds: the cluster's time of that sample.
    """
    rows = {row.name: row for row in ledger.jobs.values()}
    stream = stream_of(rows.values(), quota, 0.0)
    view = QueueView(stream, rows, now_seconds, 0.0)
    made = []
    while view.pending_count:
        count = policy.card.action_count - (policy.card.kind == "choice")
        slots = view.slots(count)
        choice = choice_of(policy, view)
        chosen = slots[choice.action] if choice.action < len(slots) else None
        names = tuple(stream.jobs[index].name for index in slots)
        if chosen is None or not view.admit(chosen):
            made.append(Consideration(names, choice, None))
            break
        made.append(Consideration(names, choice, stream.jobs[chosen].name))
    return made
