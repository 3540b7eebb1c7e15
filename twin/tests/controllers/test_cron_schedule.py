"""The schedule grammar: robfig/cron's standard parser, with time zones."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from twin.cron_schedule import parse_schedule, zone_of


def times(schedule: str, start: str, count: int, zone: str | None = None) -> list[str]:
    """Return the next times after `start` (UTC), in the zone."""
    moment, where = datetime.fromisoformat(start).replace(tzinfo=UTC).timestamp(), zone_of(zone)
    found = []
    for _ in range(count):
        following = parse_schedule(schedule).next_after(moment, where)
        if following is None:
            break
        moment = following
        found.append(datetime.fromtimestamp(moment, where).strftime("%Y-%m-%d %H:%M"))
    return found


@pytest.mark.parametrize(
    ("schedule", "start", "expected"),
    [
        ("* * * * *", "2026-01-01T00:00:30", ["2026-01-01 00:01", "2026-01-01 00:02"]),
        ("*/15 * * * *", "2026-01-01T00:15:00", ["2026-01-01 00:30", "2026-01-01 00:45"]),
        ("5/20 3 * * *", "2026-01-01T00:00:00", ["2026-01-01 03:05", "2026-01-01 03:25"]),
        ("0 9-17/4 * * MON-FRI", "2026-01-02T12:00:00", ["2026-01-02 13:00", "2026-01-02 17:00"]),
        ("0 0 29 feb ?", "2026-01-01T00:00:00", ["2028-02-29 00:00"]),
        ("0 0 13 * 5", "2026-01-01T00:00:00", ["2026-01-02 00:00", "2026-01-09 00:00",
                                              "2026-01-13 00:00"]),
        ("0 0 */10 * 5", "2026-01-01T00:00:00", ["2026-01-02 00:00", "2026-01-09 00:00"]),
        ("0 0 31 2 *", "2026-01-01T00:00:00", []),
        ("@weekly", "2026-01-01T00:00:00", ["2026-01-04 00:00"]),
        ("@hourly", "2026-01-01T00:00:00", ["2026-01-01 01:00"]),
        ("@every 1h30m", "2026-01-01T00:00:00", ["2026-01-01 01:30", "2026-01-01 03:00"]),
    ],
)  # fmt: skip
def test_next_times(schedule: str, start: str, expected: list[str]) -> None:
    """Lists, ranges, steps, names, either-day and descriptors give the times that cron gives."""
    assert times(schedule, start, len(expected) or 1) == expected


def test_zones_and_daylight_saving() -> None:
    """Local hours are meant; a skipped hour does not run, one that comes twice runs twice."""
    assert times("30 6 * * *", "2026-07-01T00:00:00", 1, "America/New_York") == ["2026-07-01 06:30"]
    spring = times("30 2 * * *", "2026-03-27T12:00:00", 2, "Europe/Berlin")
    autumn = times("30 2 * * *", "2026-10-24T12:00:00", 3, "Europe/Berlin")

    assert spring == ["2026-03-28 02:30", "2026-03-30 02:30"]
    assert autumn == ["2026-10-25 02:30", "2026-10-25 02:30", "2026-10-26 02:30"]


@pytest.mark.parametrize(
    ("schedule", "word"),
    [
        ("* * * *", "expected exactly 5 fields"),
        ("60 * * * *", "minute must be between"),
        ("* * * * 7", "day of week must be between"),
        ("5-2 * * * *", "beyond end of range"),
        ("*/0 * * * *", "positive number"),
        ("a * * * *", "failed to parse number"),
        ("@never", "unrecognized descriptor"),
        ("@every soon", "failed to parse duration"),
    ],
)
def test_bad_schedules_are_named(schedule: str, word: str) -> None:
    """A schedule that cannot be read is refused with the field that is wrong."""
    with pytest.raises(ValueError, match=word):
        parse_schedule(schedule)


def test_an_unknown_zone_is_refused() -> None:
    """A time zone that nobody knows is an error, not UTC."""
    with pytest.raises(ValueError, match="unknown time zone Mars/Phobos"):
        zone_of("Mars/Phobos")
