"""What a reader gives to the build: which files it found, and their events in one form.

Guarantee: files are taken in the order of their names, every file in the folder is either read or
named as not read, and readers hand on rows in the order of the files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from lab.traces.repair import RepairLog, SchemaDrift

Frames = Iterator[pl.DataFrame]
"""Frames in the columns of lab.traces.events, with texts where that has codes, and `row`, the
row's number over all files of its table (from 0)."""
_TABLE_SUFFIXES = (
    ".parquet",
    ".csv",
    ".csv.gz",
    ".json",
    ".json.gz",
    ".jsonl",
    ".jsonl.gz",
    ".ndjson",
)
SHOWN_FILES = 6
_SHARD = re.compile(r"(?:part[-_.]?)?[0-9]{1,12}(?:-of-[0-9]+)?")


@dataclass(frozen=True)
class TraceInput:
    """The files of one trace, by table."""

    folder: Path
    tables: Mapping[str, tuple[Path, ...]]
    not_read: tuple[str, ...] = ()

    def files(self) -> Iterator[tuple[str, Path]]:
        """Yield (table, file)."""
        for table, paths in self.tables.items():
            for path in paths:
                yield table, path

    def name_of(self, path: Path) -> str:
        """Return a file's name inside the input folder."""
        return path.relative_to(self.folder).as_posix()


@dataclass(frozen=True)
class EventReader:
    """How one form of trace is read."""

    trace: str
    find: Callable[[Path], TraceInput]
    task_events: Callable[[TraceInput, RepairLog], Frames]
    job_events: Callable[[TraceInput, RepairLog], Frames] | None = None
    machine_events: Callable[[TraceInput, RepairLog], Frames] | None = None
    usage: Callable[[TraceInput, RepairLog], Frames] | None = None
    windows: Callable[[TraceInput, RepairLog], Frames] | None = None
    """Windows whose ends are decisions, each with its own `end_kind` and `end_us`."""
    ordered: bool = True
    """Task events are published in time order; a row out of order is a fault."""
    starts_at_us: int = 0
    """When the trace begins; earlier rows describe the state before."""
    notes: Sequence[str] = field(default=())
    """What users must know about this form."""


def find_tables(path: Path, tables: Sequence[str], needed: Sequence[str]) -> TraceInput:
    """Find the tables of a trace in a folder, or in a file and the files beside it.

    A table is the first of: `<table>.<form>`, the files in a folder `<table>`, files whose names begin
    with the table's name, files named as shards alone (`part-00001-of-00500.csv.gz`). At least one of
    `needed` must be there. A file whose name is not a table's is taken as the first of them, alone.

    Raises:
        SchemaDrift: none of the needed tables is there.
    """
    folder = path
    paths_by_table: dict[str, tuple[Path, ...]] = {}
    if path.is_file():
        folder = path.parent
        named = next((table for table in tables if _begins_with(path, table)), None)
        if named is None:
            return TraceInput(folder, {needed[0]: (path,)})
        paths_by_table[named] = (path,)
    for table in tables:
        if table not in paths_by_table and (paths := _files_of(folder, table)):
            paths_by_table[table] = paths
    if not any(table in paths_by_table for table in needed):
        shards = tuple(path for path in _tables_in(folder) if _SHARD.fullmatch(_stem(path)))
        if not shards:
            raise missing_table(folder, " or ".join(needed))
        paths_by_table[needed[0]] = shards
    read = {path for paths in paths_by_table.values() for path in paths}
    unread = tuple(path.name for path in _tables_in(folder) if path not in read)
    ordered = {table: paths_by_table[table] for table in tables if table in paths_by_table}
    return TraceInput(folder, ordered, unread)


def missing_table(folder: Path, table: str) -> SchemaDrift:
    """Return the fault of a folder that lacks what its trace is made of."""
    here = ", ".join(path.name for path in sorted(folder.iterdir())[:SHOWN_FILES]) or "nothing"
    remedy = f"give {table} as parquet, csv or json; another --trace may fit what is there"
    return SchemaDrift("missing-table", folder.name, here, remedy)


def _files_of(folder: Path, table: str) -> tuple[Path, ...]:
    inside = _tables_in(folder)
    exact = tuple(path for path in inside if _stem(path) == table)
    if exact:
        return exact[:1]
    if (folder / table).is_dir():
        return tuple(_tables_in(folder / table))
    return tuple(path for path in inside if _begins_with(path, table))


def _begins_with(path: Path, table: str) -> bool:
    return re.fullmatch(rf"{table}([-_.].*)?", _stem(path)) is not None


def _tables_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.endswith(_TABLE_SUFFIXES))


def _stem(path: Path) -> str:
    name = path.name
    for suffix in sorted(_TABLE_SUFFIXES, key=len, reverse=True):
        name = name.removesuffix(suffix)
    return name
