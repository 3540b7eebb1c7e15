"""Figures of the comparison: differences of shares, quantiles of waits, the distance of two
distributions.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from lab.openb_fidelity.play import RESOURCES, CapacitySample, Played
from twin.port.workloads import WorkloadArrival

FULL = 0.8
"""Above this share a scheduler may be unable to place everything, and nothing is promised."""
BAND_PERCENT = 20
LATE_SECONDS = 1.0
RANKS = (0.5, 0.9, 0.99, 1.0)


@dataclass(frozen=True, slots=True)
class Closeness:
    """How far allocated and live differ in one resource, in points (hundredths of capacity)."""

    resource: str
    highest_live_points: float
    samples_below_full: int
    largest_difference_points: float
    """While the live requests of every resource were below FULL."""


@dataclass(frozen=True, slots=True)
class UtilisationBand:
    """The largest difference of any resource while the fullest one was in a band."""

    from_percent: int
    to_percent: int
    samples: int
    largest_difference_points: float


@dataclass(frozen=True, slots=True)
class Waits:
    """Waits of one side; seconds."""

    scheduled: int
    never: int
    within_a_second: float
    """Share of the scheduled."""
    quantiles: tuple[float, ...]
    """At RANKS."""


def closeness(samples: Sequence[CapacitySample]) -> list[Closeness]:
    """By resource: the largest difference while the cluster was less than FULL."""
    rows = []
    for index, resource in enumerate(RESOURCES):
        below = [sample for sample in samples if max(sample.live) < FULL]
        differences = [abs(sample.live[index] - sample.allocated[index]) for sample in below]
        rows.append(
            Closeness(
                resource=resource,
                highest_live_points=100 * max(sample.live[index] for sample in samples),
                samples_below_full=len(below),
                largest_difference_points=100 * max(differences, default=0.0),
            )
        )
    return rows


def bands(samples: Sequence[CapacitySample]) -> list[UtilisationBand]:
    """Where differences begin: bands of the highest live share, up to FULL."""
    rows = []
    for low in range(0, round(100 * FULL), BAND_PERCENT):
        high = low + BAND_PERCENT
        inside = [sample for sample in samples if low <= 100 * max(sample.live) < high]
        differences = [
            abs(live - allocated)
            for sample in inside
            for live, allocated in zip(sample.live, sample.allocated, strict=True)
        ]
        rows.append(UtilisationBand(low, high, len(inside), 100 * max(differences, default=0.0)))
    return rows


def late_by_gpus(arrivals: Sequence[WorkloadArrival], played: Played) -> dict[int, int]:
    """Pods that waited longer than LATE_SECONDS, or were never placed, by the GPUs that they request."""
    late = Counter(
        entry.gpus
        for entry in arrivals
        if played.waits.get(entry.name, LATE_SECONDS + 1) > LATE_SECONDS
    )
    return dict(sorted(late.items()))


def waits_of(seconds: Sequence[float], total: int) -> Waits:
    """Summarise the waits of those that were scheduled, of `total` pods."""
    ordered = sorted(seconds)
    last = len(ordered) - 1
    return Waits(
        scheduled=len(ordered),
        never=total - len(ordered),
        within_a_second=sum(value < 1.0 for value in ordered) / max(len(ordered), 1),
        quantiles=tuple(ordered[round(rank * last)] for rank in RANKS) if ordered else (),
    )


def kolmogorov_smirnov(first: Sequence[float], second: Sequence[float]) -> float:
    """Largest difference of the two empirical distribution functions, 0..1.

    Raises ValueError when a sample is empty.
    """
    if not first or not second:
        raise ValueError("both samples must hold at least one value")
    left, right = sorted(first), sorted(second)
    return max(
        abs(bisect_right(left, value) / len(left) - bisect_right(right, value) / len(right))
        for value in (*left, *right)
    )


def whole_seconds(played: Played) -> list[float]:
    """The twin's waits as the trace would have stamped them: in whole seconds, rounded down."""
    return [float(int(value)) for value in played.waits.values()]
