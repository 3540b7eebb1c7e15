"""Draws worlds in which every kind of action is taken, and which actions of a world are branched. Pure.

Of four seeds in a row one is a random world (`lab.random_worlds.draw`) with three Services or more and two spot
notices; two have Services whose bursts are more than their replicas bear, or nearly so; the fourth is a quiet cluster,
in which machines are emptied and put to sleep, half of them with a wave of Jobs that needs them back. Only in the first
anything fails on purpose: what a moved pod would be spared or meet by chance is a hundred times what moving it is
worth. All shares are invented.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Collection
from typing import Any

from lab.random_worlds.draw import GIB, HOUR, RandomWorld, draw_world

WINDOW_SECONDS = 450.0
"""At most one action of each kind is branched in so long a time: eight of an hour."""
SAMPLED_RATIO = 0.9
"""Chance of an action to be the one; below 1, so that not always the first of a window is."""
FEWEST_SERVICES = 3
NODE_CORES = 8
_WHOLE = 2**64


def draw_branched_world(seed: int) -> RandomWorld:
    """Return the world of a seed; the same seed gives the same world."""
    rng = random.Random(f"foresail/branched-world/{seed}")
    match seed % 4:
        case 0:
            return _draw_quiet_world(rng, seed)
        case 1 | 2:
            return _draw_bursting_world(rng, seed)
    world = _draw_busy_world(rng)
    notices = [
        {"fault": "spot_notice", "at_seconds": rng.randint(earliest, earliest + 900), "nodes": {"pick": 1}}
        for earliest in (600, 1_800)
    ]  # fmt: skip
    return RandomWorld(seed, world.rows, (*world.faults, *notices))


def is_sampled(
    seed: int, place: str, kind: str, at_seconds: float, taken: Collection[tuple[str, int]]
) -> bool:
    """Say whether an action is branched.

    Args:
        seed: of the world.
        place: what tells the action from the world's others.
        kind: of the action's expectation.
        at_seconds: since the world's beginning.
        taken: kinds and windows of which one is branched already.
    """
    if (kind, window_of(at_seconds)) in taken:
        return False
    digest = hashlib.sha256(f"branched/{seed}/{kind}/{place}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < SAMPLED_RATIO * _WHOLE


def window_of(at_seconds: float) -> int:
    """Return the number of the window in which an action is taken."""
    return int(at_seconds // WINDOW_SECONDS)


def _draw_busy_world(rng: random.Random) -> RandomWorld:
    """Return the first random world with enough Services, of seeds that are drawn."""
    while True:
        world = draw_world(rng.randrange(2**31))
        if sum("traffic" in row for row in world.rows) >= FEWEST_SERVICES:
            return world


def _draw_bursting_world(rng: random.Random, seed: int) -> RandomWorld:
    """Return Services with one core a replica, whose bursts ask for a half to twice what they have."""
    nodes = _nodes(rng.randint(5, 8))
    services = [_bursting_service(rng, number) for number in range(4)]
    jobs = [
        _job(rng, f"job-{i}", rng.randint(0, 3_000), (1_000, 2_000), (300, 900))
        for i in range(rng.randint(0, 8))
    ]
    arrivals = sorted([*services, *jobs], key=lambda row: float(row["time_seconds"]))
    return RandomWorld(seed, (*nodes, *arrivals), ())


def _bursting_service(rng: random.Random, number: int) -> dict[str, Any]:
    replicas, work = rng.randint(1, 5), round(rng.uniform(0.01, 0.04), 3)
    borne = replicas / work
    base, burst = borne * rng.uniform(0.2, 0.5), borne * rng.uniform(0.5, 2.0)
    every, last = rng.choice((900, 1_200, 1_800)), rng.choice((180, 300, 600))
    return {
        **_service(f"web-{number}", 1_000, replicas, work, cv=rng.choice((0.5, 1.0, 2.0))),
        "time_seconds": rng.choice((0, 0, rng.randint(60, 900))),
        "traffic": f"bursts base={base:.1f} burst={burst:.1f} every_seconds={every} last_seconds={last}",
    }


def _draw_quiet_world(rng: random.Random, seed: int) -> RandomWorld:
    count = rng.randint(8, 14)
    nodes = _nodes(count)
    left = max(2, round(count * rng.uniform(0.4, 1.3)))
    services: list[dict[str, Any]] = []
    while left > 0:
        replicas = min(left, rng.randint(1, 5))
        services.append(_quiet_service(rng, len(services), replicas))
        left -= replicas
    jobs = [
        _job(rng, f"job-{i}", rng.randint(0, 3_000), (500, 1_000, 2_000), (300, 900, 1_800))
        for i in range(rng.randint(0, 8))
    ]
    if rng.random() < 0.5:
        at = rng.randint(1_500, 3_000)
        jobs += [
            _job(rng, f"wave-{i}", at + rng.randint(0, 60), (2_000, 4_000), (300, 600))
            for i in range(round(count * rng.uniform(1.0, 3.0)))
        ]
    arrivals = sorted([*services, *jobs], key=lambda row: float(row["time_seconds"]))
    return RandomWorld(seed, (*nodes, *arrivals), ())


def _quiet_service(rng: random.Random, number: int, replicas: int) -> dict[str, Any]:
    request, work = rng.choice((500, 1_000, 2_000)), round(rng.uniform(0.01, 0.04), 3)
    rate = 0.3 * replicas * request / 1_000 / work
    return {
        **_service(f"web-{number}", request, replicas, work, cv=1.0),
        "traffic": f"constant requests_per_second={rate:.1f}",
    }


def _nodes(count: int) -> list[dict[str, Any]]:
    return [
        {"record": "node", "name": f"n{i:02}", "cpu_millicores": 1_000 * NODE_CORES, "memory_bytes": 32 * GIB}
        for i in range(count)
    ]  # fmt: skip


def _service(
    name: str, millicores: int, replicas: int, work_seconds: float, *, cv: float
) -> dict[str, Any]:
    return {
        "record": "arrival",
        "name": name,
        "time_seconds": 0,
        "kind": "service",
        "cpu_request_millicores": millicores,
        "memory_request_bytes": GIB // 2,
        "replicas": replicas,
        "request_cpu_seconds": work_seconds,
        "request_cv": cv,
    }


def _job(
    rng: random.Random, name: str, at: int, sizes: tuple[int, ...], lengths: tuple[int, ...]
) -> dict[str, Any]:
    return {
        "record": "arrival",
        "name": name,
        "time_seconds": min(at, int(HOUR) - 300),
        "kind": "task",
        "cpu_request_millicores": rng.choice(sizes),
        "memory_request_bytes": GIB,
        "duration_seconds": rng.choice(lengths),
        "outcome": "succeed",
    }
