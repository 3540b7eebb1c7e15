"""What a policy would have made of a cluster's Jobs, beside what became of them. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import inf
from statistics import fmean

from lab.learning.baselines.play import play
from lab.learning.comparison.learned_rule import ExportedRule
from lab.learning.jobs import Job, JobStream, State
from lab.learning.measures import bounded_slowdown
from lab.learning.simulator import Cluster
from lab.queue.deciding import Asked, stream_of
from schemas.queue import QueueJob, QueueScore


def score_of(rule: ExportedRule, jobs: Iterable[QueueJob], asked: Asked) -> QueueScore | None:
    """Return both figures of all Jobs that have come; None: there was none.

    Args:
        rule: of the policy.
        jobs: rows of the newest look.
        asked: when, and under which quota.
    """
    rows = {row.name: row for row in jobs if row.queue_name}
    if not rows:
        return None
    begin, now = min(row.submission_time_seconds for row in rows.values()), asked.now_seconds
    stream = stream_of(rows.values(), asked.quota, begin)
    truth = tuple(_as_it_went(job, rows[job.name]) for job in stream.jobs)
    cluster = Cluster(JobStream(stream.name, truth, stream.quota))
    play(cluster, rule, until_seconds=max(0.0, now - begin))
    acted = [_acted_wait(row, now) for row in rows.values()]
    planned = [cluster.wait_seconds(index) for index in range(len(truth))]
    lengths = {job.name: job.true_seconds for job in truth}
    return QueueScore(
        look=asked.look,
        cluster_time_seconds=now,
        policy=rule.policy.card.name,
        acts=asked.means is not None,
        jobs=len(rows),
        acted_slowdown=fmean(
            bounded_slowdown(wait, lengths[name]) for name, wait in zip(rows, acted, strict=True)
        ),
        policy_slowdown=fmean(
            bounded_slowdown(wait, job.true_seconds)
            for wait, job in zip(planned, truth, strict=True)
        ),
        acted_wait_seconds=fmean(acted),
        policy_wait_seconds=fmean(planned),
        acted_admitted=sum(row.admission_time_seconds is not None for row in rows.values()),
        policy_admitted=sum(
            record.state not in (State.NOT_YET, State.PENDING) for record in cluster.records
        ),
    )


def _as_it_went(job: Job, row: QueueJob) -> Job:
    """Return a job with the time that it truly held its quota, where that is known."""
    start, end = row.admission_time_seconds, row.completion_time_seconds
    took = job.true_seconds if start is None or end is None else max(0.0, end - start)
    return replace(job, true_seconds=took, deadline_seconds=inf)


def _acted_wait(row: QueueJob, now: float) -> float:
    """Return how long a Job waited; one that was never admitted, until its end or now."""
    until = row.admission_time_seconds
    if until is None:
        until = row.completion_time_seconds or now
    return max(0.0, until - row.submission_time_seconds)
