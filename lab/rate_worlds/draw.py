"""Draws a world from a family and a seed: Services that are sized to real rates, and machines. Pure but for reading.

Ranges of sizes are invented, and wide on purpose. Replicas that are deployed are those of somebody who sized each
Service for some hour of the week before and left it there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from random import Random

import numpy as np

from lab.rate_worlds.families import FAMILIES, Family, disturbed
from lab.rate_worlds.pieces import Piece, pieces_of
from lab.rate_worlds.rate_sets import Floats

GIB = 2**30
SIZED_USE = 0.6
"""CPU use of its request at which a replica counts as busy enough, by those who size."""
SHIFT_HOURS = (-2, -1, 0, 1, 2)
"""By how much a Service's users may live east or west of the others'."""
SERVICES = (10, 14)
PEAK_REPLICAS = (6, 30)
REQUESTS_MILLICORES = (500, 1_000, 2_000)
CPU_SECONDS = (0.01, 0.04)
SPREADS = (0.5, 1.0, 1.5)
"""Coefficient of variation of the CPU time of a request."""
READY_SECONDS = (20, 120)
"""From a container's start until it answers."""
DEPLOYED_QUANTILES = (0.25, 0.7)
"""Of the week's rates, for which replicas were deployed: what a team set once, and what an HPA begins with."""
PEAK_QUANTILE = 0.995
MACHINES = (20, 40)
MACHINE_CORES = (4, 8, 16, 32)
ROOMY, TIGHT = (1.05, 1.35), (0.4, 0.7)
"""Cores of the machines that nobody rents, over what all Services request in the fullest minute when each is sized
well: enough for the day without a node autoscaler, or too few."""
MACHINE_FREE = 0.9
"""Share of a machine's cores that its replicas fill, where sizes do not divide evenly."""


@dataclass(frozen=True, slots=True, eq=False)
class RateService:
    """A Service, its past and its day."""

    name: str
    source: str
    """Series and day it was made of."""
    request_millicores: int
    cpu_seconds: float
    """Mean CPU time of a request."""
    cv: float
    ready_seconds: int
    replicas: int
    history: Floats
    """(HISTORY_MINUTES,) requests a second, NaN where nothing was measured."""
    day: Floats
    """(DAY_MINUTES,) requests a second."""

    def replicas_for(self, rates: Floats) -> Floats:
        """Return how many well used replicas bear these rates, not rounded."""
        return rates * self.cpu_seconds / (self.request_millicores / 1_000.0 * SIZED_USE)


@dataclass(frozen=True, slots=True, eq=False)
class RateWorld:
    """A world of one day and the week before it."""

    family: str
    seed: int
    week_second: int
    """Where in the week (from Thursday 00:00 UTC) the day begins."""
    machines: int
    machine_cores: int
    services: tuple[RateService, ...]


def draw_world(folder: Path, family: str, seed: int) -> RateWorld:
    """Return the world of a family and a seed; the same give the same.

    Args:
        folder: of the data (`rate_sets`).
        family: a key of `FAMILIES`.
        seed: any number.

    Raises:
        InputError: a set is not there.
    """
    rng = Random(f"foresail/rate-world/{family}/{seed}")
    kind = FAMILIES[family]
    shifted = _pieces_by_shift(folder, family)
    first = rng.choice(shifted[0])
    alike = {
        hours: [piece for piece in pieces if piece.week_second == first.week_second]
        for hours, pieces in shifted.items()
    }
    services = tuple(_service(number, kind, alike, rng) for number in range(rng.randint(*SERVICES)))
    machines, cores = _machines(services, rng)
    return RateWorld(family, seed, first.week_second, machines, cores, services)


@lru_cache(maxsize=2)
def _pieces_by_shift(folder: Path, family: str) -> dict[int, list[Piece]]:
    sets = FAMILIES[family].sets
    return {hours: pieces_of(folder, sets, 3_600 * hours) for hours in SHIFT_HOURS}


def _service(
    number: int, family: Family, alike: dict[int, list[Piece]], rng: Random
) -> RateService:
    hours = rng.choice([shift for shift, pieces in alike.items() if pieces])
    piece = rng.choice(alike[hours])
    history, day = disturbed(family, piece, rng)
    request = rng.choice(REQUESTS_MILLICORES)
    cpu_seconds = round(rng.uniform(*CPU_SECONDS), 3)
    peak = rng.randint(*PEAK_REPLICAS) * request / 1_000.0 * SIZED_USE / cpu_seconds
    # Sized by what the day would be without its disturbance: a holiday's machines are those of every day.
    scale = peak / _peak(piece.day)
    sized_for = float(np.nanquantile(history, rng.uniform(*DEPLOYED_QUANTILES))) * scale
    return RateService(
        name=f"web-{number:02}",
        source=f"{piece.series} {hours:+d} h, day {piece.day_seconds}",
        request_millicores=request,
        cpu_seconds=cpu_seconds,
        cv=rng.choice(SPREADS),
        ready_seconds=rng.randint(*READY_SECONDS),
        replicas=max(2, math.ceil(sized_for * cpu_seconds / (request / 1_000.0 * SIZED_USE))),
        history=history * scale,
        day=day * scale,
    )


def _peak(day: Floats) -> float:
    """Return a day's highest rate without its shortest spikes, of which half counts."""
    five_minutes = day.reshape(-1, 5).mean(axis=1)
    return max(float(np.quantile(five_minutes, PEAK_QUANTILE)), float(five_minutes.max()) / 2.0)


def _machines(services: Sequence[RateService], rng: Random) -> tuple[int, int]:
    """Return how many machines there are, and their cores."""
    needed = sum(
        np.ceil(service.replicas_for(service.day)) * service.request_millicores / 1_000.0
        for service in services
    )
    deployed = sum(service.replicas * service.request_millicores for service in services) / 1_000.0
    room = rng.choice((ROOMY, TIGHT))
    wanted = max(float(np.max(needed)) * rng.uniform(*room), deployed) / MACHINE_FREE
    cores = next(cores for cores in MACHINE_CORES if wanted / cores <= MACHINES[1])
    return max(MACHINES[0], math.ceil(wanted / cores)), cores
