"""Made rows and a made trace: programs that fail again and again among many that do not."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from lab.forecast.risk.past import FAIL, SCHEDULE, SUBMIT, Events, JobCounts
from lab.forecast.risk.rows import Rows

SECOND_US = 1_000_000
TRACE_START_US = 600 * SECOND_US
FINISH = 4


def rows_of(**columns: Any) -> Rows:
    """Return rows with the given columns; the others are 0, positions rise, nothing has ended."""
    size = len(next(iter(columns.values())))
    filled: dict[str, Any] = {
        "position": np.arange(size, dtype=np.int64),
        "time_us": np.zeros(size, dtype=np.int64),
        "segment": np.zeros(size, dtype=np.int16),
        "job": np.zeros(size, dtype=np.int64),
        "name": np.zeros(size, dtype=np.int64),
        "machine": np.zeros(size, dtype=np.int64),
        "start_us": np.zeros(size, dtype=np.int64),
        "end_us": np.full(size, -1, dtype=np.int64),
        "label": np.zeros(size, dtype=np.int8),
    }
    for name, values in columns.items():
        filled[name] = np.asarray(values, dtype=filled[name].dtype)
    return Rows(**filled)


def made_rows(seed: int, size: int = 2_000, jobs: int = 80) -> tuple[Rows, JobCounts]:
    """Return rows over a hundred thousand seconds, each job within a stretch, and their history."""
    chance = random.Random(seed)
    begins = [chance.randrange(90_000) for _ in range(jobs)]
    bad = [chance.random() < 0.2 for _ in range(jobs)]
    drawn = sorted(
        ((begins[job] + chance.randrange(15_000)) * SECOND_US, job)
        for job in (chance.randrange(jobs) for _ in range(size))
    )
    label = [int(chance.random() < (0.4 if bad[job] else 0.005)) for _, job in drawn]
    rows = rows_of(
        time_us=[TRACE_START_US + time for time, _ in drawn],
        job=[job for _, job in drawn],
        name=[job % 20 for _, job in drawn],
        machine=[number % 7 for number in range(size)],
        label=label,
        end_us=[_end(time, one) for (time, _), one in zip(drawn, label, strict=True)],
    )
    return rows, JobCounts(history_of(rows))


def _end(time_us: int, label: int) -> int:
    """Failures end after 400 s, the rest runs on."""
    return TRACE_START_US + time_us + 400 * SECOND_US if label else -1


def history_of(rows: Rows) -> Events:
    """Return each row's SCHEDULE and, where it is a failure, its FAIL."""
    failed = rows.label == 1
    kinds = [np.full(len(rows), SCHEDULE, np.int8), np.full(int(failed.sum()), FAIL, np.int8)]
    return Events(
        time_us=np.concatenate([rows.time_us, rows.end_us[failed]]),
        kind=np.concatenate(kinds),
        job=np.concatenate([rows.job, rows.job[failed]]),
        name=np.concatenate([rows.name, rows.name[failed]]),
    )


def write_trace(folder: Path, seed: int = 0, jobs: int = 400) -> Path:
    """Write task_events.parquet and job_events.parquet in the form of Google 2011; 11 hours.

    One program in six fails soon after each start and is started again, time after time.
    """
    chance = random.Random(seed)
    tasks: list[dict[str, Any]] = []
    whole: list[dict[str, Any]] = []
    for job in range(1, jobs + 1):
        program = chance.randrange(30)
        begin = TRACE_START_US + chance.randrange(38_000) * SECOND_US
        fixed = {"job_id": job, "user": f"u{program % 9}", "scheduling_class": program % 3}
        named = {"logical_job_name": f"p{program}", "missing_info": None}
        whole += [
            {**fixed, **named, "time": begin, "event_type": kind} for kind in (SUBMIT, SCHEDULE)
        ]
        for task in range(chance.randrange(1, 6)):
            tasks += _task(chance, {**fixed, "task_index": task}, begin, flaky=program % 6 == 0)
    folder.mkdir(parents=True, exist_ok=True)
    whole.sort(key=lambda one: one["time"])
    tasks.sort(key=lambda one: one["time"])
    small = {"event_type": pl.Int8, "scheduling_class": pl.Int8, "missing_info": pl.Int8}
    pl.DataFrame(whole, schema_overrides=small).write_parquet(folder / "job_events.parquet")
    others = {
        "priority": pl.Int8,
        "different_machines": pl.Int8,
        "part": pl.Int16,
        "task_index": pl.Int32,
    }
    types = {**small, **others, "cpu_request": pl.Float32, "memory_request": pl.Float32}
    table = pl.DataFrame(tasks, schema_overrides=types)
    table.write_parquet(folder / "task_events.parquet")
    return folder


def _task(
    chance: random.Random, fixed: dict[str, Any], begin: int, *, flaky: bool
) -> list[dict[str, Any]]:
    row = {
        **fixed, "priority": chance.randrange(4), "cpu_request": chance.choice((0.02, 0.1)),
        "memory_request": 0.05, "disk_request": 0.0, "different_machines": 0, "part": 0,
        "missing_info": None,
    }  # fmt: skip
    events, now = [{**row, "time": begin, "event_type": SUBMIT, "machine_id": None}], begin
    for _ in range(chance.randrange(4, 12) if flaky else chance.randrange(1, 3)):
        machine = chance.randrange(12)
        now += chance.randrange(1, 20) * SECOND_US
        events.append({**row, "time": now, "event_type": SCHEDULE, "machine_id": machine})
        fails = flaky and chance.random() < 0.8
        now += chance.randrange(30, 400 if fails else 6_000) * SECOND_US
        end = FAIL if fails else FINISH
        events.append({**row, "time": now, "event_type": end, "machine_id": machine})
        now += SECOND_US
        events.append({**row, "time": now, "event_type": SUBMIT, "machine_id": None})
    return events
