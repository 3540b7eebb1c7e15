"""Anchors of traces that come as windows: each window's end is a decision.

Guarantee: a window's outcome is its own terminal event; when that lies before the window's end, the
row carries no label and is counted as excluded, for there was nothing left to predict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from features.history import Kind
from lab.forecast.anchors import ANCHOR, failed_before, job_facts
from lab.forecast.labels import LabelChoice, label, label_name
from lab.forecast.normalise import in_order, task_keys
from lab.forecast.parts import PartWriter
from lab.traces.codes import CODES_FILE, Codes
from lab.traces.event_reader import EventReader, TraceInput
from lab.traces.repair import RepairLog

NO_NAMES = pl.DataFrame(schema={"job": pl.Int64, "named_us": pl.Int64})


def write_windows(
    reader: EventReader,
    source: TraceInput,
    choice: LabelChoice,
    segment_ends: Mapping[int, int],
    folder: Path,
) -> None:
    """Write anchors.parquet, one row for each window, in time order."""
    labels = {label_name(minutes): pl.Int8 for minutes in choice.horizons}
    writer = PartWriter(folder / "anchors.parquet", {**ANCHOR, **labels})
    events = pl.scan_parquet(folder / "events.parquet")
    jobs, starts = job_facts(events), _starts(events)
    for frame in in_order(_coded_frames(reader, source, folder), folder, reader):
        placed = frame.join_asof(
            starts, on="time_us", by=["segment", "job", "task"], strategy="backward"
        )
        writer.write(
            placed.join(jobs, on="job", how="left", maintain_order="left").with_columns(
                pl.int_range(writer.rows, writer.rows + pl.len(), dtype=pl.Int64).alias("row"),
                pl.lit(value=False).alias("first_of_job"),
                failed_before("time_us"),
                *(label(choice, minutes, segment_ends) for minutes in choice.horizons),
            )
        )
    writer.finish()


def _starts(events: pl.LazyFrame) -> pl.DataFrame:
    return (
        events.filter(pl.col("kind") == Kind.SCHEDULE)
        .select("segment", "job", "task", "time_us", pl.col("time_us").alias("attempt_start_us"))
        .collect()
    )


def _coded_frames(reader: EventReader, source: TraceInput, folder: Path) -> Iterator[pl.DataFrame]:
    if reader.windows is None:
        return
    codes = Codes.of(pl.read_parquet(folder / CODES_FILE))
    # The rows were judged when the events were read.
    for frame in reader.windows(source, RepairLog(repair=True)):
        yield task_keys(frame, codes, NO_NAMES)
