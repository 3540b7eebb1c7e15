"""When a CronJob is due: the schedule grammar that Kubernetes accepts, and the next time it names.

Problem: cron dialects differ, and Kubernetes' is robfig/cron's standard one: five fields (`*`, `?`,
lists, ranges, steps, names of months and weekdays, Sunday is 0 and never 7), @hourly and the like,
and `@every 90m`. General libraries read other dialects, so this one is written out.
Guarantee: a pure function of the text, the time zone and the time. With daylight saving, a time
that is skipped does not run that day, and one that comes twice runs twice, as upstream.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MONTHS = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_DAYS = {
    name: number for number, name in enumerate(("sun", "mon", "tue", "wed", "thu", "fri", "sat"))
}
_FIELDS: tuple[tuple[str, int, int, dict[str, int]], ...] = (
    ("minute", 0, 59, {}),
    ("hour", 0, 23, {}),
    ("day of month", 1, 31, {}),
    ("month", 1, 12, _MONTHS),
    ("day of week", 0, 6, _DAYS),
)
_DESCRIPTORS = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:h|m|s|ms))+")
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(h|ms|m|s)")
_UNIT_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_HORIZON_SECONDS = 5 * 366 * 86_400.0  # a schedule that names no time in five years never runs


@dataclass(frozen=True, slots=True)
class Schedule:
    """A parsed schedule; `every_seconds` is set for `@every` alone."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool  # both day fields are restricted: one of them is enough
    every_seconds: float | None = None

    def next_after(self, after: float, zone: tzinfo) -> float | None:
        """Return the first due time after `after` (unix seconds), None when there is none."""
        if self.every_seconds is not None:
            return float(int(after + self.every_seconds))
        moment = (int(after) // 60 + 1) * 60
        while moment < after + _HORIZON_SECONDS:
            local = datetime.fromtimestamp(moment, zone)
            if local.month not in self.months or not self._on_day(local):
                moment = _next_midnight(local, zone)
            elif local.hour not in self.hours:
                moment += 3600 - 60 * local.minute
            elif local.minute not in self.minutes:
                moment += 60
            else:
                return float(moment)
        return None

    def _on_day(self, local: datetime) -> bool:
        by_month = local.day in self.days
        by_week = local.isoweekday() % 7 in self.weekdays
        return (by_month or by_week) if self.either_day else (by_month and by_week)


def parse_schedule(text: str) -> Schedule:
    """Read a schedule; raises ValueError with a sentence that names the bad field."""
    text = text.strip()
    if text.startswith("@every "):
        return _every(text.removeprefix("@every ").strip())
    if text.startswith("@"):
        if text not in _DESCRIPTORS:
            raise ValueError(f"unrecognized descriptor: {text}")
        text = _DESCRIPTORS[text]
    fields = text.split()
    if len(fields) != len(_FIELDS):
        raise ValueError(f"expected exactly 5 fields, found {len(fields)}: [{text}]")
    sets = [_field(field, *limits) for field, limits in zip(fields, _FIELDS, strict=True)]
    stars = [star for _, star in sets]
    minutes, hours, days, months, weekdays = (found for found, _ in sets)
    either = not (stars[2] or stars[4])
    return Schedule(minutes, hours, days, months, weekdays, either_day=either)


def zone_of(name: str | None) -> tzinfo:
    """Return a time zone, UTC without a name; raises ValueError for an unknown one."""
    if name in (None, "UTC", "Etc/UTC"):
        return UTC
    try:
        return ZoneInfo(str(name))
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"unknown time zone {name}") from error


def _every(text: str) -> Schedule:
    if not _DURATION.fullmatch(text):
        raise ValueError(f"failed to parse duration {text}")
    parts = [float(n) * _UNIT_SECONDS[unit] for n, unit in _DURATION_PART.findall(text)]
    seconds = max(1.0, float(int(sum(round(part * 1000) for part in parts) / 1000)))
    none: frozenset[int] = frozenset()
    return Schedule(none, none, none, none, none, either_day=False, every_seconds=seconds)


def _field(
    text: str, name: str, least: int, most: int, words: dict[str, int]
) -> tuple[frozenset[int], bool]:
    """Return the values of one field, and whether it is unrestricted."""
    values: list[int] = []
    star = False
    for part in text.split(","):
        span, _, step_text = part.partition("/")
        step = _number(step_text, name, {}) if step_text or part.endswith("/") else 1
        if span in ("*", "?"):
            first, last = least, most
            star = star or step == 1
        else:
            low, dash, high = span.partition("-")
            first = _number(low, name, words)
            last = _number(high, name, words) if dash else (most if step_text else first)
        if step < 1:
            raise ValueError(f"step of range should be a positive number: {part}")
        if first < least or last > most:
            raise ValueError(f"{name} must be between {least} and {most}: {part}")
        if first > last:
            raise ValueError(f"beginning of range ({first}) beyond end of range ({last}): {part}")
        values.extend(range(first, last + 1, step))
    return frozenset(values), star


def _number(text: str, name: str, words: dict[str, int]) -> int:
    known = words.get(text.lower())
    if known is not None:
        return known
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"failed to parse number of field {name}: {text!r}")
    return int(text)


def _next_midnight(local: datetime, zone: tzinfo) -> int:
    day = datetime(local.year, local.month, local.day) + timedelta(days=1)  # noqa: DTZ001
    midnight = int(day.replace(tzinfo=zone).timestamp())
    return max(midnight, int(local.timestamp()) + 60)
