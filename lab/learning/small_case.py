"""A small case of admission whose best possible return is known, so that a learner can be measured against it.

Jobs, arrivals and truths are fixed, which a policy may learn by heart. Whoever admits in order of arrival, or the
shortest first, misses what waiting for a moment would bring.
"""

from __future__ import annotations

from functools import cache
from math import inf

from lab.learning.jobs import Amounts, Job, JobStream, ordered_stream
from lab.learning.measures import bounded_slowdown

SMALL_CASE = "small-case"
QUOTA = Amounts(4_000, 4)
TABLE = (
    (2.0, 2, 60.0),
    (8.0, 2, 15.0),
    (30.0, 2, 60.0),
    (31.0, 3, 20.0),
    (48.0, 1, 60.0),
    (51.0, 2, 60.0),
    (54.0, 3, 40.0),
    (57.0, 1, 60.0),
)
"""Arrival in seconds, cores, running seconds."""


def small_stream() -> JobStream:
    """Return the case's jobs; estimates are true."""
    jobs = (
        Job(f"small-{n}", at, Amounts(cores * 1_000, cores), seconds, seconds)
        for n, (at, cores, seconds) in enumerate(TABLE)
    )
    return ordered_stream(SMALL_CASE, jobs, QUOTA)


def best_return(stream: JobStream) -> float:
    """Return the largest sum of the reward `slowdown` over an episode of the variant `score`, by dynamic programming.

    A state is the moment, who waits, and who runs until when; a choice is to start one of those who fit, or to wait for
    the next arrival or end. Exact, and exponential in the number of jobs: for a dozen at most, all of which the slots
    show.
    """
    jobs = stream.jobs

    @cache
    def cost(now: float, waiting: frozenset[int], running: frozenset[tuple[float, int]]) -> float:
        """Return the least sum of slowdowns above 1 of all who have not started."""
        free = stream.quota
        for _, index in running:
            free = free - jobs[index].requests
        coming = [job.arrival_seconds for job in jobs if job.arrival_seconds > now]
        soonest = min([*coming, *(end for end, _ in running)], default=inf)
        best = inf
        if soonest < inf:
            left = frozenset(one for one in running if one[0] > soonest)
            came = {n for n, job in enumerate(jobs) if now < job.arrival_seconds <= soonest}
            best = cost(soonest, waiting | came, left)
        elif not waiting:
            return 0.0
        for index in waiting:
            job = jobs[index]
            if job.requests.fits(free):
                paid = bounded_slowdown(now - job.arrival_seconds, job.running_seconds) - 1.0
                started = running | {(now + job.running_seconds, index)}
                best = min(best, paid + cost(now, waiting - {index}, started))
        return best

    first = frozenset(n for n, job in enumerate(jobs) if job.arrival_seconds <= 0)
    return -cost(0.0, first, frozenset())
