"""The weather: how much goes wrong by itself now, and the look every ten minutes that lets it.

The level is that of the settings, or of the newest scenario that asks for one. Each look draws for each
thing there is: with (concern, thing, number of the look) a draw belongs to one thing and one moment, so
nothing that is done to another changes it, and nothing has to be kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from twin.config.health import Weather
from twin.part import Part
from twin.world import World

LOOK_SECONDS = 600.0
_YEAR_SECONDS = 365.25 * 86_400.0
Look = Callable[[int], None]
"""Takes the number of the look."""
Kind = Literal["node", "flap", "rack", "zone", "slow", "leak", "crash", "outbreak"]
Report = Callable[[Kind, str, float], None]
"""Takes what the weather did now, the name of the thing that it happened to, and how many seconds it lasts (0: a
moment; inf: until the thing is gone).
"""


class WeatherLevel(Part):
    """Holds the level, and calls who looks."""

    KEEPS = ("_asked", "_looking")
    LEAVES = ("_looks", "heard")

    def __init__(self, world: World) -> None:
        self._world = world
        self._config = world.config.health
        self._asked: dict[int, str] = {}  # levels that scenarios ask for, by number of the fault
        self._looking = False
        self._looks: list[Look] = []
        self.heard: Report | None = None
        """Told of everything that the weather does; nothing in the twin may depend on it."""
        world.clock.handle("health.look", self._look)
        if self._config.weather != "off":
            self._begin()

    def add(self, look: Look) -> None:
        """Call `look` every ten minutes while the weather is not off."""
        self._looks.append(look)

    def report(self, kind: Kind, name: str, seconds: float) -> None:
        """Tell who wants to know what the weather does now."""
        if self.heard is not None:
            self.heard(kind, name, seconds)

    def ask(self, number: int, level: Weather) -> None:
        """Let a scenario's fault set the level until `release(number)`."""
        self._asked[number] = level
        if level != "off":
            self._begin()

    def release(self, number: int) -> None:
        """Go back to the level before; nothing happens for an unknown number."""
        self._asked.pop(number, None)

    @property
    def level(self) -> str:
        """The level in force."""
        return self._asked[max(self._asked)] if self._asked else self._config.weather

    @property
    def rate_factor(self) -> float:
        """How often events come, of the settings' rates."""
        return {"off": 0.0, "mild": 1.0}.get(self.level, self._config.rough_rate_factor)

    def share(self, ratio: float) -> float:
        """Return how large a share of the settings is at this level."""
        factor = {"off": 0.0, "mild": 1.0}.get(self.level, self._config.rough_share_factor)
        return min(1.0, ratio * factor)

    def chance(self, events_per_year: float) -> float:
        """Return the probability of an event within one look."""
        return min(1.0, events_per_year * self.rate_factor * LOOK_SECONDS / _YEAR_SECONDS)

    def _begin(self) -> None:
        if not self._looking:
            self._looking = True
            self._world.clock.after(0.0, "health.look")

    def _look(self) -> None:
        world = self._world
        if self.level == "off":
            self._looking = False
            return
        number = int((world.now - world.config.start_time) // LOOK_SECONDS)
        for look in self._looks:
            look(number)
        until_next = (number + 1) * LOOK_SECONDS - (world.now - world.config.start_time)
        world.clock.after(until_next, "health.look")
