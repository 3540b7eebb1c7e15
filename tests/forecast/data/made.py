"""Made histories: events of a few tasks, drawn at random or written by hand, and a reader for them."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from features.history import Kind
from lab.forecast.normalise import write_job_events, write_task_events
from lab.traces.codes import Codes
from lab.traces.event_reader import EventReader, Frames, TraceInput
from lab.traces.repair import RepairLog

MINUTE_US = 60_000_000


class Event(NamedTuple):
    """One task event."""

    time_us: int
    kind: Kind
    job: int
    task: int
    segment: int = 0


def draw_events(seed: int, events: int = 60, tasks: int = 5) -> list[Event]:
    """Draw events of any kinds in any succession, in time order, with ties, in up to two segments."""
    chance = random.Random(seed)
    times = sorted(chance.randrange(0, 90) * MINUTE_US + chance.randrange(2) for _ in range(events))
    border = times[chance.randrange(events)]
    return [
        Event(
            time_us,
            Kind(chance.randrange(8)),
            chance.randrange(3),
            chance.randrange(tasks),
            int(time_us > border),
        )
        for time_us in times
    ]


def frames_of(events: Sequence[Event], at_a_time: int = 7) -> Iterator[pl.DataFrame]:
    """Yield the events as a reader does."""
    whole = pl.DataFrame(
        [tuple(event) for event in events],
        schema={
            "time_us": pl.Int64,
            "kind": pl.Int8,
            "job": pl.Int64,
            "task": pl.Int32,
            "segment": pl.Int16,
        },
        orient="row",
    ).with_columns(
        pl.lit("u").alias("user"),
        pl.lit(4, pl.Int64).alias("machine"),
        pl.lit(0.25, pl.Float32).alias("cpu_request"),
        pl.lit(0.5, pl.Float32).alias("memory_request"),
        pl.lit(2, pl.Int16).alias("priority"),
        pl.lit(1, pl.Int8).alias("scheduling_class"),
        pl.lit(0, pl.Int8).alias("different_machines"),
        pl.int_range(len(events), dtype=pl.Int64).alias("row"),
    )
    for start in range(0, whole.height, at_a_time):
        yield whole.slice(start, at_a_time)


def made_reader(
    events: Sequence[Event],
    at_a_time: int = 7,
    starts_at_us: int = 0,
    uncertain_jobs: Sequence[int] | None = None,
) -> EventReader:
    """Return a reader of these events, equal ones left out; SCHEDULEs of some jobs are uncertain."""

    def read(_source: TraceInput, _ledger: RepairLog) -> Frames:
        for frame in frames_of(_without_repeats(events), at_a_time):
            if uncertain_jobs is None:
                yield frame
            else:
                starts = pl.when(pl.col("kind") == Kind.SCHEDULE)
                flag = starts.then(pl.col("job").is_in(uncertain_jobs))
                yield frame.with_columns(flag.alias("uncertain"))

    return EventReader("made", lambda path: TraceInput(path, {}), read, starts_at_us=starts_at_us)


def _without_repeats(events: Sequence[Event]) -> list[Event]:
    return list(dict.fromkeys(events))


def write_events(
    folder: Path, events: Sequence[Event], at_a_time: int = 7
) -> tuple[int, dict[int, tuple[int, int]]]:
    """Write events.parquet; returns its rows, and segment -> (first, last) time."""
    folder.mkdir(parents=True, exist_ok=True)
    reader, source = made_reader(events, at_a_time), TraceInput(folder, {})
    ledger, codes = RepairLog(repair=False), Codes()
    names = write_job_events(reader, source, ledger, codes, folder)
    read = write_task_events(reader, source, ledger, codes, names, folder)
    segments = {
        segment["segment"]: (segment["first_us"], segment["end_us"])
        for segment in read["segments"]  # type: ignore[attr-defined]
    }
    return int(str(read["events"])), segments
