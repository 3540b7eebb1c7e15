"""SKRueue's three ways to submit its templates: uniform, realistic by hour of day, and bursts; corrected.

Corrected: the hourly patterns name templates that exist, the interval may be below a minute, the realistic count
follows its rate (the seed's least of one job an hour stays), hours are those of the stream and not of a local clock.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import exp
from random import Random

from lab.learning.jobs import Job, Outcome
from lab.learning.workloads.templates import DEADLINE_FACTOR, TEMPLATES, Template

HOUR_SECONDS = 3_600.0
MINUTE_SECONDS = 60.0
HOURS_PER_DAY = 24


@dataclass(frozen=True, slots=True)
class HourlyPattern:
    """What comes between two hours of the day."""

    name: str
    from_hour: int
    to_hour: int
    jobs_per_hour: float
    weights: Mapping[str, float]
    """Weight of each template by name."""


PATTERNS: tuple[HourlyPattern, ...] = (
    HourlyPattern("night", 0, 6, 2, {"etl-pipeline": 0.4, "memory-intensive": 0.3, "io-intensive": 0.2,
                                     "quick-task": 0.1}),
    HourlyPattern("morning", 6, 9, 3, {"quick-task": 0.3, "cpu-intensive": 0.3, "io-intensive": 0.2,
                                       "etl-pipeline": 0.2}),
    HourlyPattern("business", 9, 18, 5, {"ml-training": 0.3, "cpu-intensive": 0.25, "memory-intensive": 0.2,
                                         "etl-pipeline": 0.15, "quick-task": 0.1}),
    HourlyPattern("evening", 18, 24, 4, {"etl-pipeline": 0.35, "ml-training": 0.25, "memory-intensive": 0.2,
                                         "io-intensive": 0.15, "quick-task": 0.05}),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Strategies:
    """Settings of the three strategies; the defaults are the published ones."""

    interval_seconds: float = 20.0
    """Uniform: seconds between two jobs (`workload.submission_interval`)."""
    patterns: tuple[HourlyPattern, ...] = PATTERNS
    """Realistic: they cover the day."""
    burst_jobs: int = 20
    burst_every_seconds: float = 4 * HOUR_SECONDS
    burst_gap_seconds: float = 5.0


def strategy_jobs(
    name: str,
    seed: int,
    length_seconds: float,
    *,
    templates: Mapping[str, Template] = TEMPLATES,
    settings: Strategies = Strategies(),
    first_hour: float = 0.0,
) -> list[Job]:
    """Return the jobs that a strategy submits before `length_seconds`.

    Args:
        name: `uniform`, `realistic` or `burst`.
        seed: the same seed gives the same jobs.
        length_seconds: arrivals are before it.
        templates: what is drawn from.
        settings: intervals and patterns.
        first_hour: hour of the day at which the stream begins.

    Raises:
        KeyError: no strategy has that name.
    """
    make = {"uniform": _uniform, "realistic": _realistic, "burst": _burst}[name]
    random = Random(f"{seed}/{name}/arrivals")
    arrivals = make(random, length_seconds, list(templates), settings, first_hour)
    shapes = Random(f"{seed}/{name}/shapes")
    return [
        job_of(templates[template], f"{template}-{number}", at, shapes)
        for number, (at, template) in enumerate(arrivals)
    ]


def job_of(template: Template, name: str, arrival_seconds: float, random: Random) -> Job:
    """Return a job of a template, its truth drawn around the estimate."""
    estimate = template.estimate_minutes * MINUTE_SECONDS
    sigma, drawn = template.spread, random.random()
    truth = max(1.0, round(estimate * exp(random.gauss(-sigma * sigma / 2, sigma)), 3))
    outcome = Outcome.SUCCEEDED
    if drawn < template.oom_ratio:
        outcome, truth = Outcome.OUT_OF_MEMORY, max(1.0, round(truth * random.random(), 3))
    elif drawn < template.oom_ratio + template.failure_ratio:
        outcome = Outcome.FAILED
    return Job(
        name=name,
        arrival_seconds=arrival_seconds,
        requests=template.requests,
        estimate_seconds=estimate,
        true_seconds=truth,
        priority=template.priority,
        kind=template.kind,
        pods=1 if template.spark is None else template.spark.executors + 1,
        outcome=outcome,
        deadline_seconds=DEADLINE_FACTOR * estimate,
    )


Arrivals = Iterator[tuple[float, str]]
"""(seconds, template), in order."""


def _uniform(
    random: Random, length: float, names: Sequence[str], settings: Strategies, first_hour: float
) -> Arrivals:
    """One random template every interval; the first after one interval."""
    del first_hour
    number = 1
    while (at := number * settings.interval_seconds) < length:
        yield at, random.choice(names)
        number += 1


def _realistic(
    random: Random, length: float, names: Sequence[str], settings: Strategies, first_hour: float
) -> Arrivals:
    """Each hour max(1, Gauss(rate, 1)) jobs of its pattern, spread over it by chance."""
    hour = 0
    while hour * HOUR_SECONDS < length:
        of_day = (first_hour + hour) % HOURS_PER_DAY
        pattern = next(one for one in settings.patterns if one.from_hour <= of_day < one.to_hour)
        weights = {name: weight for name, weight in pattern.weights.items() if name in names}
        count = max(1, round(random.gauss(pattern.jobs_per_hour, 1)))
        moments = sorted(round((hour + random.random()) * HOUR_SECONDS, 3) for _ in range(count))
        chosen = random.choices(list(weights), list(weights.values()), k=count)
        yield from ((at, name) for at, name in zip(moments, chosen, strict=True) if at < length)
        hour += 1


def _burst(
    random: Random, length: float, names: Sequence[str], settings: Strategies, first_hour: float
) -> Arrivals:
    """Bursts with quiet between them; the first at the beginning."""
    del first_hour
    begin = 0.0
    while begin < length:
        for number in range(settings.burst_jobs):
            at = begin + number * settings.burst_gap_seconds
            if at < length:
                yield at, random.choice(names)
        begin += settings.burst_every_seconds
