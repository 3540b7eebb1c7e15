"""Small invented histories with everything that makes counting hard: ties, tasks scheduled twice,
ends of what never ran, hours of silence, missing keys and requests, a recording that breaks off."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from features.history import (
    Anchors,
    Events,
    JobEvents,
    Kind,
    MachineEvents,
    MachineKind,
    TaskEvents,
)

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
STEPS_US = (0, 0, 1, SECOND_US, 40 * SECOND_US, 300 * SECOND_US, 900 * SECOND_US, HOUR_US)
SILENCES_US = (7 * HOUR_US, 25 * HOUR_US, 8 * 24 * HOUR_US)
REQUESTS = (0.0625, 0.125, 0.3, float("nan"))


def history(seed: int, rows: int) -> Events:
    """Return an invented history; the same for the same seed."""
    chance = random.Random(seed)
    times = _times(chance, rows)
    return Events(
        _tasks(chance, times),
        _jobs(chance, sorted(chance.choices(times, k=rows // 3))),
        _machines(chance, sorted(chance.choices(times, k=rows // 5))),
    )


def questions(seed: int, events: Events, rows: int) -> Anchors:
    """Return rows to ask about, sorted by time: at events, just after them and between them."""
    chance = random.Random(seed)
    columns: list[dict[str, Any]] = []
    for _ in range(rows):
        place = chance.randrange(len(events.tasks))
        one = {name: getattr(events.tasks, name)[place] for name in _SHARED}
        one["time_us"] = int(one["time_us"]) + chance.choice((0, 0, 1, SECOND_US, 899 * SECOND_US))
        if chance.random() < 0.1:
            one |= {"machine": chance.choice((-1, 77)), "user": -1, "job": 900}
        one["attempt_start_us"] = chance.choice((-1, one["time_us"], max(one["time_us"] - 5, 0)))
        one["seen_since_us"] = -1 if len(columns) % 3 else one["time_us"] // 2
        columns.append(one)
    columns.sort(key=lambda one: one["time_us"])
    return Anchors.of(**{name: [column[name] for column in columns] for name in columns[0]})


_SHARED = (
    "time_us",
    "job",
    "task",
    "name",
    "user",
    "machine",
    "cpu_request",
    "memory_request",
    "priority",
    "scheduling_class",
    "different_machines",
)


def _times(chance: random.Random, rows: int) -> list[int]:
    now, times = 0, []
    for place in range(rows):
        if place > rows // 10:
            rare = chance.random() < 4 / rows
            now += chance.choice(SILENCES_US if rare else STEPS_US)
        times.append(now)
    return times


def _tasks(chance: random.Random, times: list[int]) -> TaskEvents:
    rows = []
    broken = chance.randrange(len(times)) if chance.random() < 0.5 else len(times)
    for place, time_us in enumerate(times):
        job = chance.randrange(5)
        kind = chance.choice((Kind.SCHEDULE, Kind.SCHEDULE, Kind.FAIL, Kind.FAIL, *Kind))
        rows.append(
            {
                "time_us": time_us,
                "kind": kind,
                "job": job,
                "task": chance.randrange(3),
                "name": job // 2 - (job == 4) * 3,
                "user": job % 3 - 1,
                "machine": chance.choice((-1, 1, 2, 3)) if kind != Kind.SUBMIT else -1,
                "cpu_request": chance.choice(REQUESTS),
                "memory_request": chance.choice(REQUESTS),
                "priority": job % 2,
                "scheduling_class": job % 4 - 1,
                "different_machines": job % 3 - 1,
                "segment": int(place > broken),
            }
        )
    return TaskEvents.of(**{name: [row[name] for row in rows] for name in rows[0]})


def _jobs(chance: random.Random, times: list[int]) -> JobEvents:
    jobs = [chance.randrange(5) for _ in times]
    return JobEvents.of(
        time_us=times,
        kind=[chance.choice(list(Kind)) for _ in times],
        job=jobs,
        name=[job // 2 - (job == 4) * 3 for job in jobs],
        user=[job % 3 - 1 for job in jobs],
    )


def _machines(chance: random.Random, times: list[int]) -> MachineEvents:
    sizes = (0.25, 0.5, 1.0, float("nan"))
    return MachineEvents.of(
        time_us=times,
        kind=[chance.choice(list(MachineKind)) for _ in times],
        machine=[chance.randrange(1, 4) for _ in times],
        cpus=[chance.choice(sizes) for _ in times],
        memory=[chance.choice(sizes) for _ in times],
    )


def same_bits(one: Any, other: Any) -> bool:
    """Return whether two float arrays are equal bit for bit, NaN included."""
    return one.shape == other.shape and np.array_equal(one.view(np.int32), other.view(np.int32))
