"""In which order rules look at the queue; the lowest value first, equals in order of arrival.

Time is what the user says it takes, but where the name says truth: a scheduler does not know the truth. Processors are
requested cores. Sources: WFP3 and UNICEF, W. Tang et al., "Fault-aware, utility-based job scheduling on Blue Gene/P
systems", CLUSTER 2009; F1 to F4, D. Carastan-Santos and R. de Camargo, "Obtaining dynamic scheduling policies with
simulation and machine learning", SC'17.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, log2, log10, sqrt

from lab.learning.jobs import MILLICORES_PER_CORE, Job

Order = Callable[[Job, float], float]
"""From a job and the seconds that it has waited; the lowest goes first."""


def processors(job: Job) -> float:
    """Return requested cores, at least one."""
    return max(1.0, job.requests.cpu_millicores / MILLICORES_PER_CORE)


def _arrival(job: Job) -> float:
    """Return seconds since the stream's beginning, above 0 for a logarithm."""
    return max(0.1, job.arrival_seconds)


def by_arrival(job: Job, wait: float) -> float:
    """First come, first served."""
    del wait
    return job.arrival_seconds


def by_priority(job: Job, wait: float) -> float:
    """Kueue's order: priority, then age."""
    del wait
    return -job.priority


def by_estimate(job: Job, wait: float) -> float:
    """Shortest job first, by what the user says."""
    del wait
    return job.estimate_seconds


def by_truth(job: Job, wait: float) -> float:
    """Shortest job first, by what nobody knows."""
    del wait
    return job.running_seconds


def wfp3(job: Job, wait: float) -> float:
    """(wait / time)^3 x processors, the highest first."""
    return -((wait / job.estimate_seconds) ** 3) * processors(job)


def unicef(job: Job, wait: float) -> float:
    """Wait / (log2(processors) x time), the highest first; who asks for one processor goes first of all."""
    width = log2(processors(job)) * job.estimate_seconds
    return -wait / width if width else -inf


def f1(job: Job, wait: float) -> float:
    """log10(time) x processors + 870 log10(arrival)."""
    del wait
    return log10(job.estimate_seconds) * processors(job) + 870 * log10(_arrival(job))


def f2(job: Job, wait: float) -> float:
    """sqrt(time) x processors + 25,600 log10(arrival)."""
    del wait
    return sqrt(job.estimate_seconds) * processors(job) + 25_600 * log10(_arrival(job))


def f3(job: Job, wait: float) -> float:
    """Time x processors + 6,860,000 log10(arrival)."""
    del wait
    return job.estimate_seconds * processors(job) + 6_860_000 * log10(_arrival(job))


def f4(job: Job, wait: float) -> float:
    """Time x sqrt(processors) + 530,000 log10(arrival)."""
    del wait
    return job.estimate_seconds * sqrt(processors(job)) + 530_000 * log10(_arrival(job))


ORDERS: dict[str, Order] = {
    "fcfs": by_arrival,
    "sjf": by_estimate,
    "sjf-truth": by_truth,
    "wfp3": wfp3,
    "unicef": unicef,
    "f1": f1,
    "f2": f2,
    "f3": f3,
    "f4": f4,
}
