"""A trace's tables as what a row-by-row play needs of them: task events, machine events and usage windows.

The readers of `lab.traces` read and check; here columns are only named and sorted. Where a trace comes in stretches
with holes between them, the first one is taken: a later one has no state of its own.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from bus.errors import InputError
from features.history import Kind
from lab.traces.event_reader import EventReader, Frames, TraceInput
from lab.traces.repair import RepairLog

_BLOCK_BYTES = 2**20
_TASK = pl.format("{}/{}", "job", "task").alias("task")


@dataclass(frozen=True, slots=True)
class Tables:
    """What a trace says, in the order of time; names are texts, `machine` is null where there is none."""

    tasks: pl.DataFrame
    """time_us, kind, task, machine, cpu and memory requested (in the trace's units, null where unknown)."""
    machines: pl.DataFrame
    """time_us, kind, machine, cpu and memory that it has; empty where the trace has no such table."""
    usage: pl.DataFrame
    """time_us (a window's end), task, machine, cpu and memory used on average; empty likewise."""
    starts_at_us: int
    files: tuple[str, ...]
    digest: str
    """Of the files' bytes, the same for the same files."""


def read_tables(reader: EventReader, path: Path, cell: str | None) -> Tables:
    """Read the trace in a file or folder; `cell` keeps one cluster of those that the tables name.

    Raises:
        InputError: it cannot be read, is not in the trace's form, or has no such cell.
    """
    if not path.exists():
        raise InputError("FILE", path, "give a file or folder that is there")
    source = reader.find(path)
    ledger = RepairLog(repair=False)
    tasks = _joined(reader.task_events(source, ledger))
    if reader.ordered and tasks.height:
        tasks = tasks.filter(pl.col("segment") == tasks["segment"].min())
    machines = _joined(reader.machine_events(source, ledger)) if reader.machine_events else None
    usage = _joined(reader.usage(source, ledger)) if reader.usage else None
    found = Tables(
        tasks=tasks.select(
            "time_us",
            "kind",
            _TASK,
            _machine(tasks),
            pl.col("cpu_request").alias("cpu"),
            pl.col("memory_request").alias("memory"),
        ),
        machines=_machines(machines),
        usage=_usage(usage),
        starts_at_us=reader.starts_at_us,
        files=tuple(source.name_of(file) for _, file in source.files()),
        digest=_digest(source),
    )
    return found if cell is None else _of_cell(found, cell)


def _joined(frames: Frames) -> pl.DataFrame:
    """Return all frames as one, in the order of time; empty where there is no row."""
    parts = list(frames)
    return pl.concat(parts).sort("time_us", "row") if parts else pl.DataFrame()


def _machine(frame: pl.DataFrame) -> pl.Expr:
    """Return the machine's name; numbers below 1 stand for none."""
    if frame.schema["machine"] == pl.String:
        return pl.col("machine")
    named = pl.when(pl.col("machine") > 0).then(pl.col("machine").cast(pl.String))
    return named.alias("machine")


def _machines(frame: pl.DataFrame | None) -> pl.DataFrame:
    if frame is None or frame.is_empty():
        return pl.DataFrame(schema={"time_us": pl.Int64, "kind": pl.Int8, "machine": pl.String,
                                    "cpu": pl.Float64, "memory": pl.Float64})  # fmt: skip
    sizes = (pl.col("cpus").alias("cpu"), "memory")
    return frame.select("time_us", "kind", _machine(frame), *sizes)


def _usage(frame: pl.DataFrame | None) -> pl.DataFrame:
    if frame is None or frame.is_empty():
        return pl.DataFrame(schema={"time_us": pl.Int64, "task": pl.String, "machine": pl.String,
                                    "cpu": pl.Float64, "memory": pl.Float64})  # fmt: skip
    used = (pl.col("cpu_mean").alias("cpu"), pl.col("memory_mean").alias("memory"))
    read = frame.select("time_us", _TASK, _machine(frame), *used)
    return read.drop_nulls("machine").filter(pl.col("cpu").is_not_null())


def _of_cell(tables: Tables, cell: str) -> Tables:
    """Return the tables of one cluster: names of the common form begin with it."""
    mine = pl.col("task").str.starts_with(f"{cell}/")
    tasks = tables.tasks.filter(mine)
    if tasks.is_empty():
        names = tables.tasks["task"].str.split("/").list.first().unique().sort().to_list()
        remedy = f"there is {', '.join(names[:5])}" if names else "there is none"
        raise InputError("--cell", cell, remedy)
    return Tables(
        tasks,
        tables.machines,
        tables.usage.filter(mine),
        tables.starts_at_us,
        tables.files,
        tables.digest,
    )


def _digest(source: TraceInput) -> str:
    total = hashlib.sha256()
    for _, path in source.files():
        with path.open("rb") as file:
            while block := file.read(_BLOCK_BYTES):
                total.update(block)
    return total.hexdigest()


def ended_badly(kind: int) -> bool:
    """Say whether an end is one that nobody wanted."""
    return kind in {Kind.EVICT, Kind.FAIL, Kind.LOST}
