"""From a reader's rows to the event tables of a dataset: coded, in time order, each event once.

Guarantee: a table's rows are sorted by (time_us, row); equal rows stand once; what ends an attempt
knows when that attempt began; the logical name of a job stands on a task event only if it was
recorded before it (or with the state before the trace). Memory follows the number of tasks and jobs
at a time, not the number of events.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from features.history import Kind
from lab.forecast.parts import PartWriter
from lab.traces.codes import UNKNOWN, Codes
from lab.traces.event_reader import EventReader, Frames, TraceInput
from lab.traces.events import ENDS, JOB_EVENTS, MACHINE_EVENTS, TASK_EVENTS, USAGE
from lab.traces.repair import RepairLog

SORTED_ROWS = 250_000
"""Rows that are sorted at a time."""
SAMPLED_EVERY = 61
_TASK = ("segment", "job", "task")


def write_job_events(
    reader: EventReader, source: TraceInput, ledger: RepairLog, codes: Codes, folder: Path
) -> pl.DataFrame:
    """Write job_events.parquet; returns each job's first logical name and user, and when they came."""
    writer = PartWriter(folder / "job_events.parquet", JOB_EVENTS)
    frames = reader.job_events(source, ledger) if reader.job_events else iter(())
    for frame in _once(in_order(frames, folder, reader), ledger):
        coded = codes.with_codes(codes.with_codes(frame, "name", "name"), "user", "user")
        coded = codes.with_codes(coded, "job", "job")
        writer.write(_fill_nulls(coded.filter(pl.col("kind") != Kind.OTHER), "scheduling_class"))
    names = (
        writer.scan()
        .filter(pl.col("name") != UNKNOWN)
        .group_by("job")
        .agg(
            pl.col("name", "user").sort_by("time_us", "row").first(),
            pl.col("time_us").min().alias("named_us"),
        )
        .collect(engine="streaming")
    )
    writer.finish()
    return names.sort("job")


def write_machine_events(
    reader: EventReader, source: TraceInput, ledger: RepairLog, codes: Codes, folder: Path
) -> int:
    """Write machine_events.parquet; returns its rows."""
    writer = PartWriter(folder / "machine_events.parquet", MACHINE_EVENTS)
    frames = reader.machine_events(source, ledger) if reader.machine_events else iter(())
    for frame in _once(in_order(frames, folder, reader), ledger):
        coded = codes.with_codes(frame, "machine", "machine")
        writer.write(coded.with_columns(pl.col("cpus", "memory").fill_null(float("nan"))))
    writer.finish()
    return writer.rows


def write_usage(
    reader: EventReader, source: TraceInput, ledger: RepairLog, codes: Codes, folder: Path
) -> int:
    """Write usage.parquet where the trace has usage windows; returns its rows."""
    if reader.usage is None:
        return 0
    writer = PartWriter(folder / "usage.parquet", USAGE)
    for frame in _once(in_order(reader.usage(source, ledger), folder, reader), ledger):
        coded = codes.with_codes(codes.with_codes(frame, "job", "job"), "machine", "machine")
        writer.write(coded)
    if writer.rows:
        writer.finish()
    else:
        writer.discard()
    return writer.rows


def write_task_events(
    reader: EventReader,
    source: TraceInput,
    ledger: RepairLog,
    codes: Codes,
    names: pl.DataFrame,
    folder: Path,
) -> dict[str, object]:
    """Write events.parquet; returns counts and the segments."""
    writer = PartWriter(folder / "events.parquet", TASK_EVENTS)
    running = _Running()
    segments: dict[int, list[int]] = {}
    kinds = dict.fromkeys(Kind, 0)
    frames = reader.task_events(source, ledger)
    for frame in _once(in_order(frames, folder, reader), ledger):
        _extend(segments, frame)
        for kind, count in frame.group_by("kind").len().rows():
            kinds[Kind(kind)] += count
        known_kinds = frame.filter(pl.col("kind") != Kind.OTHER)
        writer.write(running.with_starts(task_keys(known_kinds, codes, names)))
    writer.finish()
    return {
        "events": writer.rows,
        "events_by_kind": {kind.name: count for kind, count in kinds.items()},
        "segments": [
            {"segment": segment, "first_us": first, "end_us": last, "events": count}
            for segment, (first, last, count) in sorted(segments.items())
        ],
    }


def task_keys(frame: pl.DataFrame, codes: Codes, names: pl.DataFrame) -> pl.DataFrame:
    """Take name and user from the row, or else from the job as far as it was known by then."""
    coded = codes.with_codes(codes.with_codes(frame, "job", "job"), "machine", "machine")
    of_job = [column for column in ("name", "user") if column not in frame.columns]
    for column in ("name", "user"):
        if column not in of_job:
            coded = codes.with_codes(coded, column, column)
    known = (pl.col("named_us") < pl.col("time_us")) | (pl.col("named_us") == 0)
    named = coded.join(
        names.select("job", "named_us", *of_job), on="job", how="left", maintain_order="left"
    ).with_columns(
        pl.when(known).then(column).otherwise(UNKNOWN).fill_null(UNKNOWN).alias(column)
        for column in of_job
    )
    uncertain = pl.col("uncertain") if "uncertain" in named.columns else pl.lit(value=False)
    named = named.with_columns(uncertain.fill_null(value=False).alias("uncertain"))
    return _fill_nulls(
        named.with_columns(pl.col("cpu_request", "memory_request").fill_null(float("nan"))),
        "priority",
        "scheduling_class",
        "different_machines",
    )


def _fill_nulls(frame: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return frame.with_columns(pl.col(*columns).fill_null(-1))


def _extend(segments: dict[int, list[int]], frame: pl.DataFrame) -> None:
    moments = frame.group_by("segment").agg(
        pl.col("time_us").min().alias("first"),
        pl.col("time_us").max().alias("last"),
        pl.len().alias("count"),
    )
    for segment, first, last, count in moments.rows():
        known = segments.setdefault(segment, [first, last, 0])
        known[0], known[1] = min(known[0], first), max(known[1], last)
        known[2] += count


def in_order(frames: Frames, folder: Path, reader: EventReader) -> Iterator[pl.DataFrame]:
    """Yield frames in the order of (time_us, row); no moment is split between two frames."""
    return _whole_moments(frames if reader.ordered else _sort_by_time(frames, folder))


def _sort_by_time(frames: Frames, folder: Path) -> Iterator[pl.DataFrame]:
    """Sort by ranges of time, each about `SORTED_ROWS` rows, so that memory stays bounded."""
    staged: PartWriter | None = None
    sampled: list[pl.Series] = []
    for frame in frames:
        if staged is None:
            staged = PartWriter(folder / "unsorted", frame.schema)
        staged.write(frame)
        sampled.append(frame["time_us"].gather_every(SAMPLED_EVERY))
    if staged is None:
        return
    known = pl.concat(sampled).sort()
    step = max(1, SORTED_ROWS // SAMPLED_EVERY)
    bounds = sorted(set(known.gather_every(step).to_list()[1:]))
    table = staged.scan()
    for low, high in zip([None, *bounds], [*bounds, None], strict=True):
        part = table
        if low is not None:
            part = part.filter(pl.col("time_us") >= low)
        if high is not None:
            part = part.filter(pl.col("time_us") < high)
        yield part.collect().sort("time_us", "row")
    staged.discard()


def _whole_moments(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    newest_moment: pl.DataFrame | None = None
    for frame in frames:
        joined = frame if newest_moment is None else pl.concat([newest_moment, frame])
        if joined.is_empty():
            continue
        newest = joined["time_us"][-1]
        ready = joined.filter(pl.col("time_us") < newest)
        newest_moment = joined.filter(pl.col("time_us") == newest)
        if ready.height:
            yield ready
    if newest_moment is not None and newest_moment.height:
        yield newest_moment


def _once(frames: Iterator[pl.DataFrame], ledger: RepairLog) -> Iterator[pl.DataFrame]:
    ledger.begin_table()
    for frame in frames:
        yield ledger.judge_repeats(frame, [name for name in frame.columns if name != "row"])


class _Running:
    """The attempts that run, to tell each end when its attempt began."""

    def __init__(self) -> None:
        self._open = pl.DataFrame(
            schema={"segment": pl.Int16, "job": pl.Int64, "task": pl.Int32, "opened": pl.Int64}
        )

    def with_starts(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return the frame with `attempt_start_us`: on ends their SCHEDULE's time, else -1.

        An attempt ends at its first end; a later end of the same attempt has no start.
        """
        numbered = frame.with_row_index("_at").cast({"_at": pl.Int64})
        marks = _starts_and_ends(numbered)
        touched = marks.select(_TASK).unique()
        line = pl.concat([self._carry_running(touched), marks]).sort(*_TASK, "_at")
        same = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in _TASK)
        before = pl.when(same).then(pl.col("opened").shift(1)).otherwise(UNKNOWN)
        starts = line.with_columns(before.alias("attempt_start_us")).filter("is_end")
        last = line.group_by(_TASK).agg(pl.col("opened").last())
        self._open = pl.concat(
            [
                self._open.join(touched, on=_TASK, how="anti"),
                last.filter(pl.col("opened") != UNKNOWN).select(self._open.columns),
            ]
        )
        return (
            numbered.join(
                starts.select("_at", "attempt_start_us"),
                on="_at",
                how="left",
                maintain_order="left",
            )
            .with_columns(pl.col("attempt_start_us").fill_null(UNKNOWN))
            .drop("_at")
        )

    def _carry_running(self, touched: pl.DataFrame) -> pl.DataFrame:
        """What runs of the tasks that are touched, as if begun before the frame's first row."""
        return self._open.join(touched, on=_TASK, how="semi").select(
            pl.lit(-1, pl.Int64).alias("_at"), *_TASK, "opened", pl.lit(value=False).alias("is_end")
        )


def _starts_and_ends(numbered: pl.DataFrame) -> pl.DataFrame:
    """Rows that begin or end attempts; `opened` is the time of the SCHEDULE, -1 on ends."""
    is_end = pl.col("kind").is_in(ENDS)
    return numbered.filter(is_end | (pl.col("kind") == Kind.SCHEDULE)).select(
        "_at",
        pl.col("segment").cast(pl.Int16),
        "job",
        pl.col("task").cast(pl.Int32),
        pl.when(is_end).then(UNKNOWN).otherwise(pl.col("time_us")).alias("opened"),
        is_end.alias("is_end"),
    )
