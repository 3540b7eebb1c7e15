"""One cluster of many: arrivals, admissions and ends; as `lab.learning.simulator.Cluster`, line by line."""

from __future__ import annotations

from math import inf, nan

from lab.learning.fast.arrays import Clusters, Settings, Streams
from lab.learning.fast.compiling import compiled

MILLICORES = 1_000.0


@compiled
def begin(streams: Streams, clusters: Clusters, c: int) -> None:
    """Put cluster `c` at the beginning of its stream."""
    stream = clusters.stream[c]
    clusters.now[c] = 0.0
    clusters.money[c] = 0.0
    clusters.steps[c] = 0
    clusters.next_job[c] = 0
    clusters.queued[c] = 0
    clusters.running[c] = 0
    clusters.first_ended[c] = 0
    clusters.ended[c] = 0
    clusters.completed[c] = 0
    for resource in range(3):
        clusters.free[c, resource] = streams.quota[stream, resource]
    for job in range(streams.job_count[stream]):
        clusters.start[c, job] = nan
    arrive(streams, clusters, c)


@compiled
def arrive(streams: Streams, clusters: Clusters, c: int) -> None:
    """Let who has arrived by now join the queue: behind equals, before lower priorities."""
    stream, queue = clusters.stream[c], clusters.queue[c]
    job, count = clusters.next_job[c], streams.job_count[stream]
    while job < count and streams.arrival[stream, job] <= clusters.now[c]:
        place = clusters.queued[c]
        priority = streams.priority[stream, job]
        while place > 0 and streams.priority[stream, queue[place - 1]] < priority:
            queue[place] = queue[place - 1]
            place -= 1
        queue[place] = job
        clusters.queued[c] += 1
        job += 1
    clusters.next_job[c] = job


@compiled
def fits(streams: Streams, clusters: Clusters, c: int, job: int) -> bool:
    """Say whether a job's requests are free."""
    wanted, free = streams.requests[clusters.stream[c], job], clusters.free[c]
    return bool(wanted[0] <= free[0] and wanted[1] <= free[1] and wanted[2] <= free[2])


@compiled
def admit(streams: Streams, clusters: Clusters, c: int, place: int) -> None:
    """Start who stands at a place of the queue; it fits."""
    stream, queue = clusters.stream[c], clusters.queue[c]
    job = queue[place]
    clusters.queued[c] -= 1
    for behind in range(place, clusters.queued[c]):
        queue[behind] = queue[behind + 1]
    for resource in range(3):
        clusters.free[c, resource] -= streams.requests[stream, job, resource]
    clusters.start[c, job] = clusters.now[c]
    end = clusters.now[c] + streams.running[stream, job]
    ends, ending = clusters.ends[c], clusters.ending[c]
    at = clusters.running[c]
    while at > 0 and (ends[at - 1] < end or (ends[at - 1] == end and ending[at - 1] < job)):
        ends[at], ending[at] = ends[at - 1], ending[at - 1]
        at -= 1
    ends[at], ending[at] = end, job
    clusters.running[c] += 1


@compiled
def advance(streams: Streams, clusters: Clusters, settings: Settings, c: int, until: float) -> None:
    """Let time pass: ends first, then arrivals."""
    stream = clusters.stream[c]
    while clusters.running[c] > 0 and clusters.ends[c, clusters.running[c] - 1] <= until:
        clusters.running[c] -= 1
        last = clusters.running[c]
        job, end = clusters.ending[c, last], clusters.ends[c, last]
        for resource in range(3):
            clusters.free[c, resource] += streams.requests[stream, job, resource]
        at = clusters.ended[c]
        clusters.ended_at[c, at], clusters.ended_oom[c, at] = end, streams.oom[stream, job]
        clusters.ended[c] += 1
        core_seconds = streams.requests[stream, job, 0] / MILLICORES * streams.running[stream, job]
        if streams.completes[stream, job]:
            clusters.completed[c] += 1
            clusters.money[c] += settings.completed_price + settings.done_price * core_seconds
        else:
            clusters.money[c] -= settings.failed_price + settings.lost_price * core_seconds
    clusters.now[c] = until
    arrive(streams, clusters, c)


@compiled
def next_event(streams: Streams, clusters: Clusters, c: int) -> float:
    """Return when the next job arrives or ends; infinity when neither will happen."""
    stream, soonest = clusters.stream[c], inf
    if clusters.next_job[c] < streams.job_count[stream]:
        soonest = streams.arrival[stream, clusters.next_job[c]]
    if clusters.running[c] > 0:
        soonest = min(soonest, clusters.ends[c, clusters.running[c] - 1])
    return soonest


@compiled
def is_over(streams: Streams, clusters: Clusters, c: int) -> bool:
    """Say whether every job has ended."""
    left = streams.job_count[clusters.stream[c]] - clusters.next_job[c]
    return bool(left + clusters.queued[c] + clusters.running[c] == 0)


@compiled
def has_choice(streams: Streams, clusters: Clusters, c: int, slots: int) -> bool:
    """Say whether one of the first jobs fits."""
    for place in range(min(slots, clusters.queued[c])):  # noqa: SIM110 - numba has no any()
        if fits(streams, clusters, c, clusters.queue[c, place]):
            return True
    return False


@compiled
def pass_time(
    streams: Streams, clusters: Clusters, settings: Settings, c: int, waits: bool
) -> None:
    """Let a step's time pass; without a length, until there is something to decide."""
    if settings.step_seconds > 0:
        advance(streams, clusters, settings, c, clusters.now[c] + settings.step_seconds)
        return
    while waits or not (
        has_choice(streams, clusters, c, settings.slots) or is_over(streams, clusters, c)
    ):
        waits = False
        soonest = next_event(streams, clusters, c)
        if soonest != inf:
            advance(streams, clusters, settings, c, soonest)
