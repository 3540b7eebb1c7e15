"""Pressure lanes: how many pods waited over a trial's time, arm beside arm."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median


@dataclass(frozen=True, slots=True)
class TrialSeries:
    """A figure over the time of one trial."""

    workload: str
    arm: str
    seed: int
    points: Sequence[tuple[float, float]]
    """(cluster seconds since the measured time began, pods without a node), in the order of time."""


@dataclass(frozen=True, slots=True)
class Lane:
    """An arm on a workload over time, seeds side by side."""

    workload: str
    arm: str
    seeds: int
    seconds: tuple[float, ...]
    """Times at which every seed has a value."""
    low: tuple[float, ...]
    middle: tuple[float, ...]
    """Median over seeds."""
    high: tuple[float, ...]


def lanes(series: Iterable[TrialSeries]) -> list[Lane]:
    """Return a lane for each workload and arm, in the order in which they first come."""
    grouped: dict[tuple[str, str], list[dict[float, float]]] = {}
    for one in series:
        grouped.setdefault((one.workload, one.arm), []).append(dict(one.points))
    found = []
    for (workload, arm), seeds in grouped.items():
        times = sorted(set.intersection(*(set(points) for points in seeds)))
        columns = [[points[time] for points in seeds] for time in times]
        found.append(Lane(
            workload, arm, len(seeds), tuple(times),
            tuple(map(min, columns)), tuple(map(median, columns)), tuple(map(max, columns)),
        ))  # fmt: skip
    return found
