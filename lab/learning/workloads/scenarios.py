"""The five scenarios of SKRueue's offline simulator: jobs of five types that come to sixteen nodes.

Published are the nodes, the names of types and scenarios, and a rate for each scenario, which is read as jobs a minute.
The types' sizes and durations, and what a scenario changes beside its rate, are our own choice; SKRueue's evaluation
ignored the scenario altogether.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from random import Random

from lab.learning.jobs import BYTES_PER_GIB, MILLICORES_PER_CORE, Amounts, Job, Outcome

DAY_SECONDS = 86_400.0
MINUTE_SECONDS = 60.0


def _amounts(cores: int, gib: int, gpus: int = 0) -> Amounts:
    return Amounts(cores * MILLICORES_PER_CORE, gib * BYTES_PER_GIB, gpus)


NODES: tuple[Amounts, ...] = (
    *(_amounts(32, 128, 2),) * 4,
    *(_amounts(16, 64),) * 8,
    *(_amounts(8, 32),) * 4,
)
"""4 of 32 cores, 128 GiB and 2 GPUs; 8 of 16 cores and 64 GiB; 4 of 8 cores and 32 GiB."""


@dataclass(frozen=True, slots=True)
class JobType:
    """What jobs of one type ask for."""

    name: str
    kind: str
    requests: Amounts
    minutes: float
    priority: int
    weight: float


JOB_TYPES: tuple[JobType, ...] = (
    JobType("batch", "batch", _amounts(4, 8), 30, 3, 0.35),
    JobType("ml_training", "ml", _amounts(8, 32, 1), 90, 6, 0.15),
    JobType("web_service", "realtime", _amounts(2, 4), 60, 8, 0.15),
    JobType("data_processing", "etl", _amounts(6, 24), 40, 5, 0.2),
    JobType("cron_job", "generic", _amounts(1, 2), 5, 2, 0.15),
)
SPREAD, FAILURE_RATIO = 0.35, 0.02
"""Sigma of the log-normal factor between estimate and truth; share of jobs that fail."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One way in which jobs come."""

    jobs_per_minute: float
    """On average."""
    burst: int = 1
    """Jobs that come at the same moment."""
    size: int = 1
    """By how much cores and memory are larger; what no node has is cut to the largest node."""
    every_other_node: bool = False
    """Whether half of the nodes are away."""


SCENARIOS: dict[str, Scenario] = {
    "normal_load": Scenario(0.5),
    "high_load": Scenario(2.0),
    "burst_load": Scenario(0.3, burst=12),
    "resource_constrained": Scenario(0.8, every_other_node=True),
    "large_jobs": Scenario(0.3, size=3),
}


def scenario_nodes(scenario: Scenario) -> tuple[Amounts, ...]:
    """Return the sixteen nodes; those that are away have nothing."""
    nothing = Amounts(0, 0, 0)
    away = scenario.every_other_node
    return tuple(nothing if away and n % 2 else node for n, node in enumerate(NODES))


def scenario_jobs(scenario: Scenario, seed: int, length_seconds: float = DAY_SECONDS) -> list[Job]:
    """Return the jobs of a scenario, by a Poisson process of its rate."""
    random = Random(f"{seed}/scenario")
    return [
        _job(f"{seed}-{number}", at, scenario, random)
        for number, at in enumerate(_moments(scenario, random, length_seconds))
    ]


def _moments(scenario: Scenario, random: Random, length: float) -> Iterator[float]:
    at = 0.0
    while True:
        at += random.expovariate(scenario.jobs_per_minute / MINUTE_SECONDS / scenario.burst)
        if at >= length:
            return
        yield from (round(at, 3) for _ in range(scenario.burst))


def _job(name: str, at: float, scenario: Scenario, random: Random) -> Job:
    chosen = random.choices(JOB_TYPES, [one.weight for one in JOB_TYPES])[0]
    asked, most = chosen.requests, NODES[0]
    estimate = chosen.minutes * MINUTE_SECONDS
    truth = estimate * exp(random.gauss(-SPREAD * SPREAD / 2, SPREAD))
    return Job(
        name=f"{chosen.name}-{name}",
        arrival_seconds=at,
        requests=Amounts(
            min(most.cpu_millicores, scenario.size * asked.cpu_millicores),
            min(most.memory_bytes, scenario.size * asked.memory_bytes),
            asked.gpus,
        ),
        estimate_seconds=estimate,
        true_seconds=max(1.0, round(truth, 3)),
        priority=chosen.priority,
        kind=chosen.kind,
        outcome=Outcome.FAILED if random.random() < FAILURE_RATIO else Outcome.SUCCEEDED,
    )
