"""Jobs of a session file: every combination of its grids, or a choice of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import Any

from bus.errors import InputError
from lab.sessions.jobs_file import refuse_collisions
from lab.sessions.payloads import known_names, unknown_name
from lab.sessions.session_file import Grid, SessionFile
from schemas.session import PlannedJob

MOST_JOBS = 100_000
FOLDER = "outputs/tuning"
SOBOL_ROUNDS = 64
"""Times as many points as jobs that are drawn at most: several points can fall on one combination."""


def plan_jobs(session: SessionFile) -> tuple[PlannedJob, ...]:
    """Return the jobs in order: numbered from 1, the last grid changing fastest.

    Raises:
        InputError: an unknown name, a grid that cannot be used, too many jobs, or two jobs with one id.
    """
    _check(session)
    sizes = [len(grid.values) for grid in session.grids]
    total = math.prod(sizes)
    count = total if session.max_jobs is None else min(total, session.max_jobs)
    if count > MOST_JOBS:
        raise InputError("max_jobs", count, f"plan at most {MOST_JOBS}")
    places = _chosen(session, sizes, total, count)
    jobs = [_job(session, number, place) for number, place in enumerate(places, start=1)]
    refused = next((job for job in refuse_collisions(jobs) if job.refused), None)
    if refused is not None:
        raise InputError("tag_prefix", session.tag_prefix, refused.refused)
    return tuple(jobs)


def _check(session: SessionFile) -> None:
    names = [grid.name for grid in session.grids]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InputError("grids", twice, "name each grid once")
    wrong = unknown_name((*session.fixed, *names), known_names(session.payload))
    if wrong:
        name, _, remedy = wrong.partition(": ")
        raise InputError("grids" if name in names else "fixed", name, remedy)
    for grid in session.grids:
        if len({repr(value) for value in grid.values}) < len(grid.values):
            raise InputError(f"grids.{grid.name}", list(grid.values), "give each value once")


def _chosen(session: SessionFile, sizes: Sequence[int], total: int, count: int) -> list[int]:
    """Return which combinations are jobs, by their place among all, in order."""
    if count == total or session.choose == "first":
        return list(range(count))
    if session.choose == "random":
        return sorted(Random(f"{session.seed}/session").sample(range(total), count))
    return _sobol(sizes, count, session.seed)


def _sobol(sizes: Sequence[int], count: int, seed: int) -> list[int]:
    from scipy.stats import qmc  # noqa: PLC0415 - half a second that no other choice needs

    engine = qmc.Sobol(len(sizes), scramble=True, rng=seed)
    chosen: dict[int, None] = {}
    drawn = 1 << max(1, count.bit_length())
    for _ in range(SOBOL_ROUNDS):
        for point in engine.random(drawn):
            digits = [
                min(size - 1, int(share * size)) for share, size in zip(point, sizes, strict=True)
            ]
            chosen.setdefault(_place(digits, sizes))
            if len(chosen) == count:
                return sorted(chosen)
    missing = (place for place in range(math.prod(sizes)) if place not in chosen)
    return sorted([*chosen, *(next(missing) for _ in range(count - len(chosen)))])


def _place(digits: Sequence[int], sizes: Sequence[int]) -> int:
    place = 0
    for digit, size in zip(digits, sizes, strict=True):
        place = place * size + digit
    return place


def _values(grids: Sequence[Grid], place: int) -> dict[str, Any]:
    values: list[tuple[str, Any]] = []
    for grid in reversed(grids):
        place, digit = divmod(place, len(grid.values))
        values.append((grid.name, grid.values[digit]))
    return dict(reversed(values))


def _job(session: SessionFile, number: int, place: int) -> PlannedJob:
    prefix = session.tag_prefix
    job_id = f"job_{number:04d}" if prefix is None else f"{prefix}_{number:04d}"
    folder = FOLDER if prefix is None else f"{FOLDER}/{prefix}"
    given = {name: value for name, value in session.fixed.items() if value is not None}
    config = {**given, **_values(session.grids, place)}
    return PlannedJob(job_id=job_id, config=config, output_json=f"{folder}/{job_id}.json")
