"""The workload model of Lublin and Feitelson: sizes, running times and arrivals of rigid parallel jobs.

Source: U. Lublin and D. Feitelson, "The workload on parallel supercomputers", JPDC 63(11), 2003, with the parameters of
their program of 1999 for a workload without types. Lublin-256, on which schedulers are compared (Carastan-Santos and
de Camargo, SC'17; RLScheduler, SC'20), is its output for 256 processors. The model knows no estimates.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from math import exp, floor, log2
from random import Random

from scipy.special import gammainc

from lab.learning.jobs import BYTES_PER_GIB, MILLICORES_PER_CORE, Amounts, Job

SERIAL, POWER_OF_TWO = 0.244, 0.576
LEAST_LOG, MEDIUM_BELOW_MOST, FIRST_STAGE = 0.8, 2.5, 0.86
"""log2 of the smallest parallel job; of the change of stage below the largest; share of the first stage."""
SHORT_SHAPE, SHORT_SCALE, LONG_SHAPE, LONG_SCALE = 4.2, 0.94, 312.0, 0.03
SHORT_SLOPE, SHORT_AT_ZERO = -0.0054, 0.78
"""Probability of the short gamma as a line over processors."""
MOST_LOG_SECONDS, MOST_LOG_GAP = 12.0, 13.0
RUSH_SHAPE, RUSH_SCALE, RUSH_OVER_ALL = 10.2303, 0.4871, 1.0225
DAY_SHAPE, DAY_SCALE = 8.1737, 3.9631
BUCKETS, BUCKET_SECONDS, DAY_BEGINS = 48, 1_800.0, 11
"""Half hours of a day; the daily gamma counts them from the eleventh."""
PROCESSORS = 256


def lublin_quota(processors: int = PROCESSORS) -> Amounts:
    """Return a quota of so many processors; each comes with a GiB, so that memory never decides."""
    return Amounts(processors * MILLICORES_PER_CORE, processors * BYTES_PER_GIB)


def lublin_jobs(
    seed: int, count: int, *, processors: int = PROCESSORS, most_overestimate: float = 0.0
) -> list[Job]:
    """Return `count` jobs of the model, the first at its own arrival after midnight.

    Args:
        seed: the same seed gives the same jobs.
        count: how many.
        processors: of the machine; the largest jobs have all of them.
        most_overestimate: f of the "f model" (Mu'alem and Feitelson, 2001): estimates are uniform between the truth
            and f + 1 times the truth. 0: the estimate is the truth, as published comparisons on this model have it.
    """
    arrivals, sizes = Random(f"{seed}/arrivals"), Random(f"{seed}/sizes")
    users = Random(f"{seed}/estimates")
    jobs = []
    for number, at in zip(range(count), _arrivals(arrivals), strict=False):
        width = _processors(sizes, log2(processors))
        seconds = _running_seconds(sizes, width)
        estimate = seconds * (1.0 + most_overestimate * users.random())
        jobs.append(rigid_job(f"lublin-{number}", at, width, seconds, estimate))
    return jobs


def rigid_job(name: str, at: float, processors: int, seconds: float, estimate: float) -> Job:
    """Return a job of so many processors, a pod each."""
    return Job(
        name=name,
        arrival_seconds=at,
        requests=lublin_quota(processors),
        estimate_seconds=estimate,
        true_seconds=seconds,
        kind="batch",
        pods=processors,
    )


def _processors(random: Random, most_log: float) -> int:
    """Serial, a power of two, or anything; the logarithm is uniform in two stages."""
    kind = random.random()
    if kind <= SERIAL:
        return 1
    medium = most_log - MEDIUM_BELOW_MOST
    low, high = (LEAST_LOG, medium) if random.random() <= FIRST_STAGE else (medium, most_log)
    logarithm = low + (high - low) * random.random()
    if kind <= SERIAL + POWER_OF_TWO:
        logarithm = floor(logarithm + 0.5)
    return int(2.0**logarithm + 0.5)


def _running_seconds(random: Random, processors: int) -> float:
    """Whole seconds; the logarithm is one of two gammas, wide jobs being long more often."""
    short = min(1.0, max(0.0, SHORT_SLOPE * processors + SHORT_AT_ZERO))
    while True:
        if random.random() <= short:
            logarithm = random.gammavariate(SHORT_SHAPE, SHORT_SCALE)
        else:
            logarithm = random.gammavariate(LONG_SHAPE, LONG_SCALE)
        if logarithm <= MOST_LOG_SECONDS:
            return float(max(1, int(exp(logarithm))))


def _arrivals(random: Random) -> Iterator[float]:
    """Seconds since midnight, without end: gaps of the rush hours, stretched by the hour of the day."""
    weights = _weights_of_day()
    bucket, points, begin = 0, 0.0, 0.0
    while True:
        gap = random.gammavariate(RUSH_SHAPE * RUSH_OVER_ALL, RUSH_SCALE)
        while gap > MOST_LOG_GAP:
            gap = random.gammavariate(RUSH_SHAPE * RUSH_OVER_ALL, RUSH_SCALE)
        points += exp(gap) / BUCKET_SECONDS
        while points > weights[bucket]:
            points -= weights[bucket]
            bucket = (bucket + 1) % BUCKETS
            begin += BUCKET_SECONDS
        yield float(int(begin + BUCKET_SECONDS * points / weights[bucket]))


@cache
def _weights_of_day() -> tuple[float, ...]:
    """Share of each half hour among arrivals over the mean share."""
    weights = [0.0] * BUCKETS
    for step in range(DAY_BEGINS, BUCKETS + DAY_BEGINS):
        weights[(step - 1) % BUCKETS] = float(
            gammainc(DAY_SHAPE, (step + 0.5) / DAY_SCALE)
            - gammainc(DAY_SHAPE, (step - 0.5) / DAY_SCALE)
        )
    mean = sum(weights) / BUCKETS
    return tuple(weight / mean for weight in weights)
