"""Prices of energy by hour of the day, from a file.

Hours are those of the clock on the wall in the file's time zone: where a day has 25 hours, the one that comes
twice costs the same both times.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, ValidationError, field_validator

from bus.errors import ConfigError
from schemas.model import DataModel

FIELD = "collector.energy_price_file"
HOURS = 24
SATURDAY = 5
DayPrices = Annotated[
    tuple[Annotated[float, Field(ge=0)], ...], Field(min_length=HOURS, max_length=HOURS)
]
"""Of a kWh, for each hour of a day, the first from midnight to one o'clock."""


class EnergyPrices(DataModel):
    """Prices of a kWh by hour."""

    time_zone: str
    """Of the IANA database, such as `Europe/Berlin`."""
    hours: DayPrices
    """Of every day that nothing else names."""
    weekend: DayPrices | None = None
    """Of Saturdays and Sundays."""
    dates: dict[str, DayPrices] = {}
    """Of single days, by `YYYY-MM-DD`, such as those of a day-ahead market."""

    @field_validator("time_zone")
    @classmethod
    def _check_zone(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            raise ValueError("name a time zone such as Europe/Berlin or UTC") from error
        return name

    @field_validator("dates")
    @classmethod
    def _check_dates(cls, days: dict[str, DayPrices]) -> dict[str, DayPrices]:
        for day in days:
            try:
                written = date.fromisoformat(day).isoformat()
            except ValueError:
                written = ""
            if written != day:
                raise ValueError(f"{day!r} is no date: write it as 2026-01-31")
        return days

    def at(self, time_seconds: float) -> float:
        """Return the price of a kWh at a Unix time."""
        here = datetime.fromtimestamp(time_seconds, UTC).astimezone(ZoneInfo(self.time_zone))
        day = self.dates.get(here.date().isoformat())
        if day is None:
            weekend = self.weekend is not None and here.weekday() >= SATURDAY
            day = self.weekend if weekend else self.hours
        assert day is not None
        return day[here.hour]


def parse_prices(tables: Mapping[str, Any]) -> EnergyPrices:
    """Return the prices of a file's tables.

    Raises:
        ConfigError: they are none.
    """
    try:
        return EnergyPrices.model_validate(tables)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        value = "(none)" if first["type"] == "missing" else first["input"]
        message = first["msg"].removeprefix("Value error, ")
        if first["type"] in {"too_short", "too_long"}:
            value, message = f"{len(first['input'])} prices", f"give {HOURS}, one for each hour"
        raise ConfigError(f"{FIELD}: {where}", value, message) from error
