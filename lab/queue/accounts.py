"""What became of every job of a stream, each in exactly one counted state, and how the arm did."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from lab.learning.jobs import Job
from lab.learning.measures import bounded_slowdown
from schemas.queue import QueueJob, QueueState

JobAccount = Literal[
    "completed", "failed", "rejected", "running", "waiting", "refused", "unsubmitted"
]
ACCOUNTS: Mapping[JobAccount, str] = {
    "completed": "came to a good end",
    "failed": "ran and came to a bad end, its deadline included",
    "rejected": "came to a bad end and never ran",
    "running": "runs when the time is over",
    "waiting": "waits then, whoever holds it back",
    "refused": "the API server did not take it",
    "unsubmitted": "its time had not come, or nobody answered",
}
METRICS: Mapping[str, str] = {
    "throughput": "jobs/h",
    "success_rate": "%",
    "failure_rate": "%",
    "avg_queue_length": "jobs",
    "oom_incidents": "kills",
    "cpu_utilization": "%",
    "memory_utilization": "%",
    "mean_wait_minutes": "min",
    "mean_bounded_slowdown": "",
    "cpu_requested": "%",
    "memory_requested": "%",
}
"""The predecessors' seven, then ours, with their units.

Rates are of all jobs of the stream. Queue length and utilization are means over the samples; used amounts are
measured, requested ones are what the nodes have given away. Wait and slowdown count every job that was submitted:
one that never ran waits until its end, or until the time was over, so no arm looks better by starving somebody.
"""


@dataclass(frozen=True, slots=True)
class ArmResult:
    """How one arm did on one stream."""

    arm: str
    seed: int
    accounts: Mapping[JobAccount, int]
    """How many jobs are in each state; they add up to all jobs of the stream."""
    metrics: Mapping[str, float]
    """By name as `METRICS` has them; NaN: nobody measured it."""
    finishes: Mapping[str, JobAccount]
    """Each job's state, by its name."""


def account_of(job: Job, row: QueueJob | None, refused: Mapping[str, str]) -> JobAccount:
    """Return the one state that counts a job."""
    if row is None:
        return "refused" if job.name in refused else "unsubmitted"
    if row.status == "Succeeded":
        return "completed"
    if row.status == "Failed":
        return "rejected" if row.start_time_seconds is None else "failed"
    return "running" if row.status == "Running" else "waiting"


def result_of(
    arm: str,
    seed: int,
    jobs: Sequence[Job],
    rows: Mapping[str, QueueJob],
    states: Sequence[QueueState],
    refused: Mapping[str, str],
) -> ArmResult:
    """Return the accounts and metrics of what was played.

    Args:
        arm: who decided.
        seed: of the stream.
        jobs: the whole stream.
        rows: the last row of each Job by its name.
        states: every sample, in order of time; at least two.
        refused: jobs that the API server did not take, and why.

    Raises:
        ValueError: there are fewer than two samples.
    """
    if len(states) < 2:
        raise ValueError(f"{arm}: {len(states)} samples tell nothing about a time")
    finishes = {job.name: account_of(job, rows.get(job.name), refused) for job in jobs}
    counted = Counter(finishes.values())
    accounts = {name: counted[name] for name in ACCOUNTS}
    begin, end = states[0].cluster_time_seconds, states[-1].cluster_time_seconds
    known = [(job, rows[job.name]) for job in jobs if job.name in rows]
    waits = [_wait_seconds(row, end) for _, row in known]
    slowdowns = [
        bounded_slowdown(wait, job.running_seconds)
        for (job, _), wait in zip(known, waits, strict=True)
    ]
    bad = accounts["failed"] + accounts["rejected"]
    metrics = {
        "throughput": accounts["completed"] / ((end - begin) / 3_600.0),
        "success_rate": 100.0 * accounts["completed"] / len(jobs),
        "failure_rate": 100.0 * bad / len(jobs),
        "avg_queue_length": fmean(state.queue_length for state in states),
        "oom_incidents": float(states[-1].oom_kills),
        "cpu_utilization": _mean_percent([state.cpu_used_ratio for state in states]),
        "memory_utilization": _mean_percent([state.memory_used_ratio for state in states]),
        "mean_wait_minutes": fmean(waits) / 60.0 if waits else math.nan,
        "mean_bounded_slowdown": fmean(slowdowns) if slowdowns else math.nan,
        "cpu_requested": _mean_percent(
            [_share(state.cpu_requested_cores, state.cpu_allocatable_cores) for state in states]
        ),
        "memory_requested": _mean_percent(
            [
                _share(state.memory_requested_bytes, state.memory_allocatable_bytes)
                for state in states
            ]
        ),
    }
    return ArmResult(arm, seed, accounts, metrics, finishes)


def _wait_seconds(row: QueueJob, end: float) -> float:
    """Return how long a job waited to run; without a start until it ended, or the time was over."""
    known = (row.start_time_seconds, row.completion_time_seconds, end)
    until = next(seconds for seconds in known if seconds is not None)
    return max(0.0, until - row.submission_time_seconds)


def _mean_percent(ratios: Sequence[float | None]) -> float:
    known = [ratio for ratio in ratios if ratio is not None]
    return 100.0 * fmean(known) if known else math.nan


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
