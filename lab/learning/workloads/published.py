"""SKRueue's published setting: 60 minutes, a job each 20 s, 179 jobs (2025-06-09).

Taken from the program that made its table: four kinds of job by weight, estimates drawn a fifth around the kind's
own, and what their containers truly do, which is not what the estimates say (the memory task sleeps 20 times 30 s,
ten minutes, and is estimated at twenty). A Job fails at three times its estimate. Requests are limits. The size of
the cluster was not published; `NODES` is ours: the workers that its README asks for (three of four cores, 32 GB
together), on which plain Kubernetes completes about as many jobs an hour as its table says (70).
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from lab.learning.jobs import BYTES_PER_GIB, Amounts, Job, JobStream, ordered_stream

INTERVAL_SECONDS = 20.0
LENGTH_SECONDS = 3_600.0
ESTIMATE_FACTORS = (0.8, 1.2)
DEADLINE_FACTOR = 3
NODES = 3
NODE = Amounts(4_000, 10 * BYTES_PER_GIB)
"""Each of them."""


@dataclass(frozen=True, slots=True)
class PublishedKind:
    """A kind of job."""

    name: str
    kind: str
    """As the observation knows it."""
    requests: Amounts
    estimate_minutes: int
    true_minutes: float
    priority: int
    weight: float


def _gib(amount: float) -> int:
    return int(amount * BYTES_PER_GIB)


KINDS = (
    PublishedKind("cpu-task", "batch", Amounts(1_000, _gib(2)), 15, 15, 5, 0.3),
    PublishedKind("memory-task", "batch", Amounts(500, _gib(4)), 20, 10, 3, 0.3),
    PublishedKind("mixed-task", "batch", Amounts(800, _gib(3)), 10, 10, 4, 0.2),
    PublishedKind("quick-task", "generic", Amounts(200, _gib(0.5)), 5, 5, 2, 0.2),
)


def published_stream(seed: int) -> JobStream:
    """Return the 179 jobs of an hour; the same seed gives the same jobs."""
    random = Random(f"{seed}/published")
    count = int(LENGTH_SECONDS / INTERVAL_SECONDS) - 1
    quota = Amounts(NODES * NODE.cpu_millicores, NODES * NODE.memory_bytes)
    jobs = (_job(number, random) for number in range(count))
    return ordered_stream(f"published/{seed}", jobs, quota)


def _job(number: int, random: Random) -> Job:
    kind = random.choices(KINDS, [one.weight for one in KINDS])[0]
    estimate_minutes = int(kind.estimate_minutes * random.uniform(*ESTIMATE_FACTORS))
    return Job(
        name=f"{kind.name}-{number:04d}",
        arrival_seconds=number * INTERVAL_SECONDS,
        requests=kind.requests,
        estimate_seconds=60.0 * estimate_minutes,
        true_seconds=60.0 * kind.true_minutes,
        priority=kind.priority,
        kind=kind.kind,
        deadline_seconds=60.0 * estimate_minutes * DEADLINE_FACTOR,
    )
