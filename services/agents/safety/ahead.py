"""Replicas before the rise: how many are worth their cost, by bands of what will be asked for. Pure.

A replica too few is paid for in minutes outside the objective, one too many in idle capacity. Which quantile of demand
to be ready for follows from those two prices (the newsvendor's question); nobody sets it. Only what replicas can still
change counts: demand from the lead time on, for as long as they are held.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LEVELS = (0.05, 0.1, 0.5, 0.9, 0.95)
"""Quantiles of a band; see `schemas.prediction.BandTable`."""
MIDDLE = 2
Z_OUTERMOST = 1.6449
"""Quantile of the normal distribution at the highest level."""
LEVEL_WEIGHTS = (0.075, 0.225, 0.4, 0.225, 0.075)
"""Share of the demand that each level stands for: halfway to its neighbours."""
CAPACITY_NODES = (
    (-2.856970, 0.01125741),
    (-1.355626, 0.22207592),
    (0.0, 0.53333333),
    (1.355626, 0.22207592),
    (2.856970, 0.01125741),
)
"""Places (standard deviations) and weights at which what a replica bears is tried: Gauss-Hermite of five points, for a
normal distribution of its logarithm."""


class RateBand(NamedTuple):
    """Requests a second of a Service, one horizon ahead."""

    horizon_seconds: float
    quantiles: tuple[float, ...]
    """At `LEVELS`, never falling."""


class ReplicaRate(NamedTuple):
    """Requests a second of one replica at which the objective just holds."""

    low: float
    """One in twenty is expected below."""
    middle: float
    high: float
    """One in twenty is expected above."""

    def tried(self) -> list[tuple[float, float]]:
        """Return rates that a replica may bear, each with its weight."""
        sigmas = [abs(math.log(end / self.middle)) / Z_OUTERMOST for end in (self.low, self.high)]
        return [
            (self.middle * math.exp(place * sigmas[place > 0.0]), weight)
            for place, weight in CAPACITY_NODES
        ]


@dataclass(frozen=True, slots=True)
class Stakes:
    """Weighed amounts, in money an hour."""

    outside_objective: float
    """Cost of an hour in which the Service violates its objective."""
    replica: float
    """Cost of a replica for an hour."""


@dataclass(frozen=True, slots=True)
class AheadNumber:
    """The number of replicas that costs least over the bands of some time ahead."""

    replicas: int
    chance_before: float
    """That the objective is violated with the replicas of now, mean over the bands."""
    chance_after: float
    horizon_seconds: float
    """Of the band that asks for most."""
    rate: float
    """Requests a second for which so many replicas are ready."""


def chance_above(band: RateBand, rate: float) -> float:
    """Return the chance that a band's demand exceeds a rate (requests/s).

    Linear between its quantiles; beyond the outermost the half of a normal distribution that meets it.
    """
    values = band.quantiles
    if rate < values[0] or rate >= values[-1]:
        end = values[-1] if rate >= values[-1] else values[0]
        sigma = abs(end - values[MIDDLE]) / Z_OUTERMOST
        if sigma <= 0.0:
            return 1.0 if rate < values[MIDDLE] else 0.0
        return 0.5 * math.erfc((rate - values[MIDDLE]) / (sigma * math.sqrt(2.0)))
    place = next(place for place in range(1, len(values)) if rate < values[place])
    left, right = values[place - 1], values[place]
    level = LEVELS[place - 1] + (LEVELS[place] - LEVELS[place - 1]) * (rate - left) / (right - left)
    return 1.0 - level


def chance_outside(band: RateBand, replicas: int, rates: Sequence[tuple[float, float]]) -> float:
    """Return the chance that so many replicas do not bear a band's demand; `rates` are `ReplicaRate.tried`."""
    return math.fsum(weight * chance_above(band, rate * replicas) for rate, weight in rates)


def backlog_ratio(band: RateBand, rate: float) -> float:
    """Return the expected demand beyond a rate (requests/s, above 0) as a share of it.

    What is not served now waits, so the objective is violated for longer: without it the cheapest answer to a rush
    that cannot be served whole would be to serve none of it.
    """
    beyond = (
        weight * max(0.0, value - rate)
        for weight, value in zip(LEVEL_WEIGHTS, band.quantiles, strict=True)
    )
    return math.fsum(beyond) / rate


def bands_in_reach(
    bands: Sequence[RateBand], lead_seconds: float, hold_seconds: float
) -> tuple[RateBand, ...]:
    """Return the bands that new replicas can still serve: from the lead time to the end of their hold.

    At least the first one from the lead time on, else the furthest; none only where there are none.
    """
    ordered = sorted(bands)
    later = [band for band in ordered if band.horizon_seconds >= lead_seconds] or ordered[-1:]
    reach = [band for band in later if band.horizon_seconds <= lead_seconds + hold_seconds]
    return tuple(reach or later[:1])


def cheapest_number(
    bands: Sequence[RateBand],
    bears: ReplicaRate,
    stakes: Stakes,
    *,
    now: int,
    least: int,
    most: int,
) -> AheadNumber | None:
    """Return the number of replicas within `least` to `most` that costs least; None where nothing can be said.

    Args:
        bands: what may be asked for, at one horizon or several.
        bears: what one replica bears; nothing is said where it is not above 0.
        stakes: prices.
        now: replicas of now, for comparison.
        least: the smallest number that may be.
        most: the largest.
    """
    if not bands or min(bears) <= 0.0 or most < least:
        return None
    rates = bears.tried()

    def chance(replicas: int) -> float:
        return math.fsum(chance_outside(band, replicas, rates) for band in bands) / len(bands)

    def backlog(replicas: int) -> float:
        return math.fsum(backlog_ratio(band, bears.middle * replicas) for band in bands) / len(
            bands
        )

    def cost(replicas: int) -> float:
        outside = chance(replicas) + backlog(replicas)
        return stakes.outside_objective * outside + stakes.replica * replicas

    cheapest, lowest = least, cost(least)
    for replicas in range(least + 1, most + 1):
        if stakes.replica * replicas > lowest:
            break  # their price alone is more, and that of still more replicas, too
        paid = cost(replicas)
        if paid < lowest:
            cheapest, lowest = replicas, paid
    asks_most = max(
        bands, key=lambda band: (chance_outside(band, now, rates), -band.horizon_seconds)
    )
    return AheadNumber(
        replicas=cheapest,
        chance_before=chance(now),
        chance_after=chance(cheapest),
        horizon_seconds=asks_most.horizon_seconds,
        rate=bears.middle * cheapest,
    )
