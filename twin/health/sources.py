"""Where the rates of the weather come from, for people who choose a level."""

from __future__ import annotations

from dataclasses import dataclass

from twin.config.health import HealthConfig, Weather

STUDIES = (
    "Ford et al. (OSDI 2010), J. Dean (Google I/O 2008), Panda et al. (IASO, ATC 2019), Microsoft Azure "
    "(Narya, 2021), Verma et al. (Borg, EuroSys 2015), Lion et al. (OSDI 2016)"
)
LICENCE = "single published figures, no data"


@dataclass(frozen=True, slots=True)
class WeatherSource:
    """One level of the weather, and whose figures it has."""

    level: Weather
    title: str
    licence: str
    attribution: str


SOURCES = (
    WeatherSource("off", "nothing goes wrong by itself", "none", ""),
    WeatherSource("mild", "failures as often as published, some shares invented", LICENCE, STUDIES),
    WeatherSource(
        "rough",
        f"the same {HealthConfig().rough_rate_factor:.0f} times as often, a factor that is invented",
        LICENCE,
        STUDIES,
    ),
)
