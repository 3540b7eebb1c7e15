"""Which eight days of which series may become a Service: seven of history and the one that is played."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lab.rate_worlds.rate_sets import (
    DAY,
    MINUTE,
    Floats,
    RateCourse,
    hourly_autocorrelation,
    read_set,
)

HISTORY_DAYS = 7
WEEK = 7 * DAY
HISTORY_MINUTES, DAY_MINUTES = HISTORY_DAYS * DAY // MINUTE, DAY // MINUTE
MOST_MISSING = 0.05
"""Share of the eight days in which nothing was measured, at most."""
LEAST_SERVEGEN_RATE = 30.0
"""Requests a minute of a ServeGen client, in the mean: below, most steps are empty."""
SHAPED_24_HOURS, SHAPED_OVER_12_HOURS = 0.5, 0.3
"""Autocorrelation of hourly means after a day, and by how much it is above that after half a day, from which on a
ServeGen client has a daily cycle; other clients are left out."""


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Eight days of one series."""

    series: str
    day_seconds: int
    """When the played day begins, as the set counts (UTC where it says so)."""
    history: Floats
    """(HISTORY_MINUTES,) rate of each minute in the set's unit, NaN where nothing was measured."""
    day: Floats
    """(DAY_MINUTES,) likewise, without holes."""

    @property
    def week_second(self) -> int:
        """Where in a week that begins on a Thursday (as Unix time does) the played day begins."""
        return self.day_seconds % WEEK


def pieces_of(
    folder: Path, sets: Mapping[str, tuple[str, ...]], shift_seconds: int = 0
) -> list[Piece]:
    """Return the pieces of some sets whose played day nobody trained on, in order of set, series and day.

    Args:
        folder: of the data.
        sets: by set the series that are meant; empty: all with a daily cycle.
        shift_seconds: by how much the courses are moved, as if their users lived elsewhere.

    Raises:
        InputError: a set is not there.
    """
    found = []
    for name, wanted in sets.items():
        for course in read_set(folder, name):
            if course.name in wanted or (not wanted and _is_shaped(name, course)):
                found += _pieces(course, shift_seconds)
    return found


def _is_shaped(name: str, course: RateCourse) -> bool:
    if not np.isfinite(course.held_out_seconds):
        return False
    if name != "servegen":
        return True
    if np.nanmean(course.values) < LEAST_SERVEGEN_RATE:
        return False
    day, half = (hourly_autocorrelation(course, hours) for hours in (24, 12))
    return day > SHAPED_24_HOURS and day > half + SHAPED_OVER_12_HOURS


def _pieces(course: RateCourse, shift_seconds: int) -> list[Piece]:
    if not np.isfinite(course.held_out_seconds):
        return []
    first = max(int(course.held_out_seconds), course.begin_seconds + WEEK)
    # A set that is split by time begins its held-out days at local midnight; others count from midnight UTC.
    split_by_time = course.held_out_seconds > course.begin_seconds
    midnight = int(course.held_out_seconds) % DAY if split_by_time else 0
    begins = range(first + (midnight - first) % DAY, course.end_seconds, DAY)
    return [piece for day in begins if (piece := _piece(course, day, shift_seconds)) is not None]


def _piece(course: RateCourse, day: int, shift_seconds: int) -> Piece | None:
    begin, count = day - WEEK + shift_seconds, HISTORY_MINUTES + DAY_MINUTES
    known = course.known_minutes(begin, count)
    inside = course.begin_seconds <= begin and begin + count * MINUTE <= course.end_seconds
    if not inside or 1.0 - known.mean() > MOST_MISSING:
        return None
    rates = course.minutes(begin, count)
    history = np.where(known, rates, np.nan)[:HISTORY_MINUTES]
    return Piece(course.name, day, history, rates[HISTORY_MINUTES:])


def minute_of_day(text: str) -> int:
    """Return the minute of `HH:MM`.

    Raises:
        ValueError: it is no hour of a day.
    """
    hour, colon, minute = text.partition(":")
    if not (colon and hour.isdecimal() and minute.isdecimal()):
        raise ValueError("give an hour of the day, such as 09:48")
    if int(hour) > 23 or int(minute) > 59:
        raise ValueError("give an hour from 00:00 to 23:59")
    return 60 * int(hour) + int(minute)
