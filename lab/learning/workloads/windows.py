"""Streams cut from a long record of jobs, which is split by time so that no test sees what training has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from lab.learning.jobs import Amounts, Job, JobStream, ordered_stream
from lab.learning.workloads.splits import Split

TRAIN_ENDS, DEVELOPMENT_ENDS = 0.6, 0.8
"""Shares of the record's time."""


def split_by_time(jobs: Sequence[Job], split: Split) -> list[Job]:
    """Return the jobs of a split: the first 60 % of the time to train, then 20 % each.

    A job counts for the split in which it arrives.
    """
    begin, end = jobs[0].arrival_seconds, jobs[-1].arrival_seconds
    first = begin + TRAIN_ENDS * (end - begin)
    second = begin + DEVELOPMENT_ENDS * (end - begin)
    bounds = {
        "train": (float("-inf"), first),
        "development": (first, second),
        "test": (second, float("inf")),
    }
    low, high = bounds[split]
    return [job for job in jobs if low <= job.arrival_seconds < high]


def window(name: str, jobs: Sequence[Job], quota: Amounts, seed: int, count: int) -> JobStream:
    """Return `count` consecutive jobs from a place drawn by the seed, the first at 0 s; all when there are fewer."""
    first = Random(f"{seed}/window").randrange(max(1, len(jobs) - count + 1))
    return cut(name, jobs, quota, first, count)


def thinned_window(
    name: str,
    thinned: Sequence[Sequence[Job]],
    quota: Amounts,
    seed: int,
    count: int,
    *,
    apart: bool,
) -> JobStream:
    """Return `count` consecutive jobs of a thinned record.

    Args:
        name: of the record.
        thinned: the record's each n-th job, from the first, the second, up to the n-th on.
        quota: of the cluster.
        seed: seeds next to one another take different jobs; the same seed gives the same stream.
        count: jobs.
        apart: whether the first seeds take windows that share no job, as many as there are; later ones, and all
            seeds otherwise, draw their place.
    """
    jobs = thinned[seed % len(thinned)]
    place = seed // len(thinned)
    if apart and (place + 1) * count <= len(jobs):
        return cut(f"{name}/{seed % len(thinned)}", jobs, quota, place * count, count)
    return window(f"{name}/{seed % len(thinned)}", jobs, quota, seed, count)


def cut(name: str, jobs: Sequence[Job], quota: Amounts, first: int, count: int) -> JobStream:
    """Return `count` consecutive jobs from a place on, the first at 0 s; fewer where the record ends."""
    chosen = jobs[first : first + count]
    begin = chosen[0].arrival_seconds
    moved = [replace(job, arrival_seconds=job.arrival_seconds - begin) for job in chosen]
    return ordered_stream(f"{name}/{first}", moved, quota)


def quota_for(jobs: Sequence[Job], count: int, load: float) -> Amounts:
    """Return the quota that a window of `count` jobs fills to `load` on average, when nobody waits.

    A window begins empty, and jobs that run for days hardly count within it: each is taken for at most half a window.
    Single jobs may ask for more than the quota.
    """
    seconds = max(1.0, jobs[-1].arrival_seconds - jobs[0].arrival_seconds)
    half = seconds * min(1.0, count / len(jobs)) / 2

    def of(resource: str) -> int:
        used = sum(getattr(job.requests, resource) * min(half, job.running_seconds) for job in jobs)
        return int(used / seconds / load)

    return Amounts(of("cpu_millicores"), of("memory_bytes"), of("gpus"))
