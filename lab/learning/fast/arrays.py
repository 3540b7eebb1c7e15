"""Streams and clusters as arrays: one row a stream or cluster, one column a job."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lab.learning.jobs import JobStream, Outcome, State
from lab.learning.observation import KIND_CODES

Array = NDArray[Any]


class Streams(NamedTuple):
    """Jobs of all streams; rows are padded to the longest."""

    job_count: Array
    """(streams,) jobs."""
    quota: Array
    """(streams, 3) millicores, bytes, GPUs."""
    requests: Array
    """(streams, jobs, 3) likewise."""
    arrival: Array
    """(streams, jobs) seconds."""
    estimate: Array
    running: Array
    """Seconds that a job holds its resources."""
    priority: Array
    kind: Array
    """Type codes."""
    pods: Array
    completes: Array
    """1 for a job that ends well."""
    oom: Array
    """1 for one that ends for want of memory."""


class Clusters(NamedTuple):
    """What happens in all clusters."""

    stream: Array
    """(clusters,) row of what is played."""
    now: Array
    steps: Array
    next_job: Array
    """The first that has not arrived."""
    free: Array
    """(clusters, 3)."""
    queue: Array
    """(clusters, jobs) who waits in Kueue's order, the first `queued` of a row."""
    queued: Array
    ends: Array
    """(clusters, jobs) ends of who runs, the soonest last, the first `running` of a row."""
    ending: Array
    """Their jobs."""
    running: Array
    ended_at: Array
    """(clusters, jobs) ends of who has ended, in order; from `first_ended` on within the hour."""
    ended_oom: Array
    first_ended: Array
    ended: Array
    completed: Array
    start: Array
    """(clusters, jobs) seconds of each start; NaN before."""
    slots: Array
    """(clusters, slots) room for who stands there before a step of `continuous`."""
    money: Array
    """Settled by ends within the present step."""


class Outputs(NamedTuple):
    """What a step gives back."""

    observations: Array
    masks: Array
    rewards: Array
    terminated: Array
    truncated: Array
    final_observations: Array
    """Where an episode ended: what was seen at its end; the observation is the next one's first."""
    final_slowdown: Array
    """Where an episode ended: mean bounded slowdown of its jobs that ended."""
    final_wait: Array
    """Likewise the mean wait in seconds of those that started."""
    final_completed: Array
    final_failed: Array


class Settings(NamedTuple):
    """What an environment is made with, as numbers."""

    variant: int
    """0 skrueue, 1 score, 2 continuous."""
    reward: int
    """Place in `rewards.REWARDS`."""
    slots: int
    step_seconds: float
    """0: admissions take no time."""
    most_steps: int
    most_seconds: float
    least_steps: int
    held_price: float
    """For a pod-second."""
    done_price: float
    """For a core-second of a completed job."""
    lost_price: float
    """For one of a job that failed."""
    completed_price: float
    failed_price: float
    work_conserving: bool


def pack_streams(streams: Sequence[JobStream]) -> Streams:
    """Return streams as arrays."""
    rows, columns = len(streams), max(len(stream.jobs) for stream in streams)

    def table(kind: Any) -> Array:
        return np.zeros((rows, columns), dtype=kind)

    made = Streams(
        np.array([len(stream.jobs) for stream in streams], dtype=np.int64),
        np.array([_amounts(stream.quota) for stream in streams], dtype=np.int64),
        np.zeros((rows, columns, 3), dtype=np.int64),
        arrival=table(np.float64),
        estimate=table(np.float64),
        running=table(np.float64),
        priority=table(np.int64),
        kind=table(np.float64),
        pods=table(np.int64),
        completes=table(np.int64),
        oom=table(np.int64),
    )
    for row, stream in enumerate(streams):
        for column, job in enumerate(stream.jobs):
            at = row, column
            made.requests[at] = _amounts(job.requests)
            made.arrival[at], made.estimate[at] = job.arrival_seconds, job.estimate_seconds
            made.running[at], made.priority[at] = job.running_seconds, job.priority
            made.kind[at], made.pods[at] = KIND_CODES.get(job.kind, KIND_CODES["generic"]), job.pods
            made.completes[at] = job.end_state is State.COMPLETED
            out_of_memory = job.outcome is Outcome.OUT_OF_MEMORY
            made.oom[at] = out_of_memory and job.true_seconds <= job.deadline_seconds
    return made


def empty_clusters(count: int, jobs: int, slots: int) -> Clusters:
    """Return clusters that have not begun."""
    whole, real, table = np.int64, np.float64, (count, jobs)
    return Clusters(
        stream=np.arange(count, dtype=whole),
        now=np.zeros(count, real),
        steps=np.zeros(count, whole),
        next_job=np.zeros(count, whole),
        free=np.zeros((count, 3), whole),
        queue=np.zeros(table, whole),
        queued=np.zeros(count, whole),
        ends=np.zeros(table, real),
        ending=np.zeros(table, whole),
        running=np.zeros(count, whole),
        ended_at=np.zeros(table, real),
        ended_oom=np.zeros(table, whole),
        first_ended=np.zeros(count, whole),
        ended=np.zeros(count, whole),
        completed=np.zeros(count, whole),
        start=np.full(table, nan),
        slots=np.zeros((count, slots), whole),
        money=np.zeros(count, real),
    )


def empty_outputs(count: int, numbers: int, actions: int) -> Outputs:
    """Return room for what a step gives back."""
    seen = (count, numbers)
    return Outputs(
        observations=np.zeros(seen, np.float32),
        masks=np.zeros((count, actions), np.bool_),
        rewards=np.zeros(count, np.float64),
        terminated=np.zeros(count, np.bool_),
        truncated=np.zeros(count, np.bool_),
        final_observations=np.zeros(seen, np.float32),
        final_slowdown=np.zeros(count, np.float64),
        final_wait=np.zeros(count, np.float64),
        final_completed=np.zeros(count, np.int64),
        final_failed=np.zeros(count, np.int64),
    )


def _amounts(given: Any) -> tuple[int, int, int]:
    return given.cpu_millicores, given.memory_bytes, given.gpus
