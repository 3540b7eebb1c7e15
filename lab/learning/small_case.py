"""A small case of admission whose optimum is known, so that a learner can be measured against it.

Twelve jobs of three kinds wait from the beginning. How long one takes is drawn from an exponential distribution, so
what has passed says nothing of what is left: who waits and who runs is all there is to know, and it is observed.
The optimum is that of this very decision process: it knows no job's time either. Holding back a job that fits pays
here: a long narrow one would keep out a wide one, so that the best simple rule costs a fifth more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from random import Random

from lab.learning.backend import Backend
from lab.learning.jobs import BYTES_PER_GIB, MILLICORES_PER_CORE, Amounts, Job, JobStream

SMALL_CASE = "small-case"
CORES = 6
EACH = 4
"""Jobs of a kind."""
ARGUMENTS: Mapping[str, object] = {
    "variant": "score",
    "workload": SMALL_CASE,
    "reward": "held",
    "slots": 12,
}
"""Of the environment in which the optimum holds."""

Counts = tuple[int, int, int]
"""Jobs by kind."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Jobs that differ in nothing but their time."""

    cores: int
    mean_seconds: float
    pods: int
    """What its waiting costs, by the reward `held`."""


KINDS = (Kind(1, 240.0, 6), Kind(4, 10.0, 8), Kind(5, 20.0, 4))
START: Counts = (EACH, EACH, EACH)
NOBODY: Counts = (0, 0, 0)


def small_stream(seed: int) -> JobStream:
    """Return the case's jobs, kind by kind, with times that the seed draws; estimates are the means."""
    random = Random(f"{seed}/small-case")
    kinds = [kind for kind in KINDS for _ in range(EACH)]
    jobs = tuple(
        Job(
            f"small-{number}", 0.0, _amounts(kind.cores), kind.mean_seconds,
            random.expovariate(1.0 / kind.mean_seconds), pods=kind.pods,
        )
        for number, kind in enumerate(kinds)
    )  # fmt: skip
    return JobStream(SMALL_CASE, jobs, _amounts(CORES))


def best_return() -> float:
    """Return the largest expected return of an episode: minus the pod-hours that jobs wait."""
    return -_cost(START, NOBODY)[0] / 3_600.0


def best_rule(cluster: Backend) -> int | None:
    """Admit as the optimum does."""
    waiting, running = _counts(cluster, cluster.pending), _counts(cluster, cluster.running)
    kind = _cost(waiting, running)[1]
    if kind is None:
        return None
    return next(index for index in cluster.pending if _kind_of(cluster, index) == kind)


@cache
def _cost(waiting: Counts, running: Counts) -> tuple[float, int | None]:
    """Return the least expected pod-seconds from here on, and the kind to admit for it; None: wait for an end."""
    if waiting == NOBODY:
        return 0.0, None
    free = CORES - sum(count * kind.cores for count, kind in zip(running, KINDS, strict=True))
    choices: list[tuple[float, int | None]] = []
    if running != NOBODY:
        rates = [n / kind.mean_seconds for n, kind in zip(running, KINDS, strict=True)]
        held = sum(n * kind.pods for n, kind in zip(waiting, KINDS, strict=True))
        later = sum(
            rate * _cost(waiting, _changed(running, place, -1))[0]
            for place, rate in enumerate(rates)
            if rate
        )
        choices.append(((held + later) / sum(rates), None))
    for place, kind in enumerate(KINDS):
        if waiting[place] and kind.cores <= free:
            after = _cost(_changed(waiting, place, -1), _changed(running, place, 1))
            choices.append((after[0], place))
    return min(choices, key=lambda choice: choice[0])


def _changed(counts: Counts, place: int, by: int) -> Counts:
    first, second, third = (n + by * (place == number) for number, n in enumerate(counts))
    return first, second, third


def _counts(cluster: Backend, jobs: list[int]) -> Counts:
    kinds = [_kind_of(cluster, index) for index in jobs]
    return kinds.count(0), kinds.count(1), kinds.count(2)


def _kind_of(cluster: Backend, index: int) -> int:
    cores = cluster.job(index).requests.cpu_millicores // MILLICORES_PER_CORE
    return [kind.cores for kind in KINDS].index(cores)


def _amounts(cores: int) -> Amounts:
    return Amounts(cores * MILLICORES_PER_CORE, cores * BYTES_PER_GIB)
