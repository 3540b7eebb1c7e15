"""Write the 2011 Google trace as a workload file in which owners, programs and retries are to be seen.

    python -m lab.workloads.retries --data DIR --out FILE.jsonl --nodes 400 [--start 43200] [--segment 0] [--seed 1]

A user is a namespace; what a job submits together is one Indexed Job named after program and job, a task one of its
indexes; an attempt that failed and was submitted again is a pod that fails and is tried again after Kubernetes' own
back-off, each index by itself. Production services are Deployments, which the trace says little of failing (6 % of
all failures, left out).

Whole jobs are sampled, so that what a job did before is seen: a job of n tasks keeps m of them, at most 64 or its
share, and comes with a chance of share x n / m, so that the load of a machine stays the trace's.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

from bus.errors import InputError
from lab.traces.google2011 import read_google2011
from lab.traces.google2011_attempts import read_courses
from lab.traces.google2011_lives import CLASSES
from lab.workloads.prepare import CLASS_LABEL, TracePart, machine_of
from lab.workloads.thinning import sample_machines
from twin.port.workloads import (
    CARRIED_IN_SECONDS,
    FAILED,
    GIVEN_UP,
    MOST_ATTEMPTS,
    RUNS_ON,
    SUCCEEDED,
    Attempt,
    LargestNode,
    Usage,
    WorkloadArrival,
    at_rank,
    attempts_text,
    carried_in_time,
    load_model,
    write_trace_file,
)

MOST_TASKS = 64
"""Of one job, unless its share is more."""
SEGMENTS = (0, 1)
"""Stretches of the files without a hole: the first 19.7 h, and 4.2 h later on."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Which part of the trace is played, and how much of it."""

    nodes: int
    seed: int
    start_seconds: float
    segment: int = 0


def cut_courses(data_dir: Path, cut: Cut) -> TracePart:
    """Take machines and their share of the jobs from `cut.start_seconds` of the trace on.

    Raises:
        InputError: a bad size or start, or a missing file.
    """
    if cut.nodes < 1:
        raise InputError("--nodes", cut.nodes, "give 1 or more")
    trace = read_google2011(data_dir)
    courses, end_seconds = read_courses(data_dir, cut.segment)
    first = float(courses.select(pl.col("starts").list.first().min()).item())
    if not first <= cut.start_seconds < end_seconds:
        remedy = f"segment {cut.segment} has seconds {first:.0f} to {end_seconds:.0f}"
        raise InputError("--start", cut.start_seconds, remedy)
    chosen = sample_machines(trace.nodes, cut.nodes, Random(f"{cut.seed}/nodes"))
    machines = [machine_of(row) for row in chosen.iter_rows(named=True)]
    share = min(1.0, len(machines) / trace.reference_nodes)
    there = _from(courses, cut.start_seconds)
    kept = pl.concat(_sampled(there, share, Random(f"{cut.seed}/jobs")))
    room = LargestNode(machines)
    arrivals = [one for one in _arrivals(kept, cut) if room.holds(one)]
    return TracePart(machines, arrivals, _describe(cut, share, len(trace.nodes), arrivals))


def _describe(cut: Cut, share: float, of_nodes: int, arrivals: list[WorkloadArrival]) -> list[str]:
    failed = sum(one.attempts.count(FAILED) + one.attempts.count(GIVEN_UP) for one in arrivals)
    owners, pods = len({one.namespace for one in arrivals}), sum(one.replicas for one in arrivals)
    where = f"second {cut.start_seconds:.0f} of segment {cut.segment}, seed {cut.seed}"
    return [
        f"trace google2011 with owners, programs and retries, from {where}",
        f"{cut.nodes} of {of_nodes} machines, every shape in its share",
        f"jobs: share {share:.4f} kept, whole up to {MOST_TASKS} tasks",
        f"{len(arrivals)} workloads of {owners} owners, {pods} pods, of which {failed} attempts fail",
        f"usage: {load_model('google2011').usage.source}",
    ]


def _from(courses: pl.DataFrame, start: float) -> pl.DataFrame:
    """Return the courses that have not ended by `start`, without the attempts before it, as rows of attempts left.

    Adds `arrive` (seconds after the start, 0 for what was there), `lasts` (seconds of each attempt, null: it runs on)
    and `failed`.
    """
    left = pl.col("ends").is_null() | (pl.col("ends") > start)
    attempts = courses.with_row_index("course").explode("starts", "ends", "runs", "failed")
    return (
        attempts.filter(left)
        .with_columns(
            pl.when(pl.col("ends").is_null())
            .then(None)
            .otherwise(pl.min_horizontal(pl.col("ends") - start, "runs"))
            .alias("lasts"),
        )
        .group_by("course", maintain_order=True)
        .agg(
            pl.col("user", "program", "job", "task", "class_name").first(),
            pl.col("cpu_millicores", "memory_bytes", "part").first(),
            (pl.col("starts").first() - start).clip(lower_bound=0.0).alias("arrive"),
            pl.col("lasts"),
            pl.col("failed"),
            (pl.col("ends").last() - start).alias("until"),
        )
        .with_columns(pl.when(pl.col("arrive") > 0).then("part").otherwise(-1).alias("part"))
    )


def _sampled(courses: pl.DataFrame, share: float, rng: Random) -> Iterator[pl.DataFrame]:
    """Yield the kept tasks of each kept job: systematic sampling, what is there already by size, then by time."""
    sizes = (
        courses.group_by("job", maintain_order=True)
        .agg(pl.len(), pl.col("arrive").min(), pl.col("cpu_millicores").sum())
        .sort("arrive", "cpu_millicores", "job")
    )
    by_job = {key[0]: rows for key, rows in courses.partition_by("job", as_dict=True).items()}
    position = rng.random()
    for job, tasks in sizes.select("job", "len").iter_rows():
        keep = max(min(tasks, MOST_TASKS), round(share * tasks))
        position += share * tasks / keep
        if position >= 1.0:
            position -= 1.0
            rows = by_job[job].sort("arrive", "task")
            yield rows[sorted(rng.sample(range(tasks), keep))]


def _arrivals(courses: pl.DataFrame, cut: Cut) -> list[WorkloadArrival]:
    """Return one arrival for what a job submitted together with equal requests, in order of time."""
    service = pl.col("class_name") == "production-service"
    ends_together = pl.when(service).then((pl.col("until") // 10).fill_null(-1)).otherwise(0)
    key = ["job", "part", "class_name", "cpu_millicores", "memory_bytes", "ends_together"]
    groups = courses.with_columns(ends_together.alias("ends_together")).partition_by(
        key, maintain_order=True
    )
    groups.sort(key=lambda rows: (float(rows["arrive"][0]), int(rows["job"][0])))
    carried = sum(float(rows["arrive"][0]) == 0 for rows in groups)
    usage, made = load_model("google2011").usage, list[WorkloadArrival]()
    for number, rows in enumerate(groups):
        since = float(rows["arrive"][0])
        at = carried_in_time(number, carried) if since == 0 else max(since, CARRIED_IN_SECONDS)
        made.append(_arrival(rows, number, at, usage, Random(f"{cut.seed}/usage/{number}")))
    return sorted(made, key=lambda one: one.time_seconds)


def _arrival(
    rows: pl.DataFrame, number: int, at: float, usage: Usage, rng: Random
) -> WorkloadArrival:
    first: dict[str, Any] = rows.row(0, named=True)
    entry = next(known for known in CLASSES if known.name == first["class_name"])
    is_task = entry.kind == "task"
    until = (
        None if is_task or first["until"] is None else round(first["until"] - first["arrive"], 6)
    )
    courses = zip(rows["lasts"].to_list(), rows["failed"].to_list(), strict=True)
    return WorkloadArrival(
        time_seconds=round(at, 6),
        name=f"{_code('p', first['program'])}-{first['job']}-{number}",
        kind="task" if is_task else "service",
        cpu_request_millicores=first["cpu_millicores"],
        memory_request_bytes=first["memory_bytes"],
        gpus=0,
        cpu_usage_ratio=round(at_rank(usage.cpu_ratio_quantiles, rng.random()), 4),
        memory_usage_ratio=round(at_rank(usage.memory_ratio_quantiles, rng.random()), 4),
        duration_seconds=until,
        outcome="run",
        replicas=len(rows),
        priority=entry.priority,
        labels={CLASS_LABEL: entry.name},
        namespace=_code("u", first["user"]),
        attempts=attempts_text(_attempts(*course) for course in courses) if is_task else "",
    )


def _attempts(lasts: list[float | None], failed: list[bool]) -> list[Attempt]:
    """Return the attempts of one course; one whose loop goes on beyond the most that are kept ends there."""
    attempts = [
        Attempt(seconds, RUNS_ON)
        if seconds is None
        else Attempt(round(seconds, 3), FAILED if is_failed else SUCCEEDED)
        for seconds, is_failed in zip(lasts[:MOST_ATTEMPTS], failed[:MOST_ATTEMPTS], strict=True)
    ]
    if attempts[-1].ending == FAILED:
        attempts[-1] = attempts[-1]._replace(ending=GIVEN_UP)
    return attempts


def _code(letter: str, name: str | None) -> str:
    """Return a name that Kubernetes takes for one that is opaque anyway."""
    return letter + hashlib.sha256((name or "").encode()).hexdigest()[:8]


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code (2: bad input)."""
    parser = argparse.ArgumentParser(prog="python -m lab.workloads.retries", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder of all trace files")
    parser.add_argument("--out", type=Path, required=True, help="a new .jsonl file")
    parser.add_argument("--nodes", type=int, default=400)
    parser.add_argument("--start", type=float, default=43_200.0, help="second of the trace")
    parser.add_argument("--segment", type=int, choices=SEGMENTS, default=0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    cut = Cut(options.nodes, options.seed, options.start, options.segment)
    try:
        part = cut_courses(options.data, cut)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    write_trace_file(options.out, part.machines, part.arrivals, part.description)
    print("\n".join(part.description))
    return 0


if __name__ == "__main__":
    sys.exit(main())
