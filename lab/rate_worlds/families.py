"""Families of worlds: from which sets their Services come, and what makes the past a bad guide to the day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random

import numpy as np

from lab.rate_worlds.pieces import DAY_MINUTES, HISTORY_MINUTES, Piece
from lab.rate_worlds.rate_sets import Floats

Disturb = Callable[[Floats, Floats, Random], tuple[Floats, Floats]]
"""From history and played day to what the world has, with chance of its own."""
HOLIDAY_LEVELS = (0.25, 0.55)
"""Level of a holiday, of what the day would have been; invented, as wide as English Christmas Days seem to be."""
OUTAGE_MINUTES = (120, 420)
OUTAGE_LEVEL = 0.02
"""Requests that are still counted while a site is down, of what would have come; invented."""
FLAT_NOISE = 0.05
"""Standard deviation of a flat course, over its mean, minute by minute; invented."""


@dataclass(frozen=True, slots=True)
class Family:
    """Where the Services of a world come from."""

    sets: Mapping[str, tuple[str, ...]]
    """By set the series that are drawn; empty: all that are held out and have a daily cycle."""
    shaped: bool
    """Whether the day is like those before, so that foresight should help; else it must only not harm."""
    disturb: Disturb | None = None


def _flatten(history: Floats, day: Floats, rng: Random) -> tuple[Floats, Floats]:
    """Return two courses of one level, with noise."""
    count, level = len(history) + len(day), float(np.nanmean(day))
    values = np.array([max(0.0, level * rng.gauss(1.0, FLAT_NOISE)) for _ in range(count)])
    return values[:HISTORY_MINUTES], values[HISTORY_MINUTES:]


def _holiday(history: Floats, day: Floats, rng: Random) -> tuple[Floats, Floats]:
    """Return a day on which far fewer come than on any before."""
    return history, day * rng.uniform(*HOLIDAY_LEVELS)


def _outage(history: Floats, day: Floats, rng: Random) -> tuple[Floats, Floats]:
    """Return a history in which the site was down during the busiest hours of the last day."""
    minutes = rng.randint(*OUTAGE_MINUTES)
    busiest = int(np.nanargmax(_hourly(history[-DAY_MINUTES:]))) * 60
    middle = HISTORY_MINUTES - DAY_MINUTES + busiest
    first = min(max(0, middle - minutes // 2), HISTORY_MINUTES - minutes)
    broken = history.copy()
    broken[first : first + minutes] *= OUTAGE_LEVEL
    return broken, day


def _hourly(minutes: Floats) -> Floats:
    hours = minutes.reshape(-1, 60)
    known = np.isfinite(hours)
    return np.where(known.any(axis=1), np.where(known, hours, 0.0).sum(axis=1), -1.0)


def disturbed(family: Family, piece: Piece, rng: Random) -> tuple[Floats, Floats]:
    """Return history and day of a piece as its family has them."""
    if family.disturb is None:
        return piece.history, piece.day
    return family.disturb(piece.history, piece.day, rng)


_DAILY: Mapping[str, tuple[str, ...]] = {
    "wikipedia": (),
    "clarknet": (),
    "crane": ("crane_02",),
    "servegen": (),
}
FAMILIES: Mapping[str, Family] = {
    "worldcup": Family({"worldcup98": ()}, shaped=True),
    "clarknet": Family({"clarknet": ()}, shaped=True),
    "wikipedia": Family({"wikipedia": ()}, shaped=True),
    "servegen": Family({"servegen": ()}, shaped=True),
    "crane": Family({"crane": ("crane_02", "crane_10")}, shaped=True),
    "bursts": Family({"nab": ("tweets_FB", "tweets_UPS"), "crane": ("crane_05",)}, shaped=False),
    "flat": Family(_DAILY, shaped=False, disturb=_flatten),
    "holiday": Family(_DAILY, shaped=False, disturb=_holiday),
    "outage": Family(_DAILY, shaped=False, disturb=_outage),
}
"""By name. Only series, and days of series, that nobody trained on are played."""
