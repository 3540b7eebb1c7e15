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

from lab.forecast.repair import Ledger, SchemaDrift

Frames = Iterator[pl.DataFrame]
"""Frames in the columns of lab.forecast.events, with texts where that has codes, and `row`, the
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
class Reader:
    """How one form of trace is read."""

    trace: str
    find: Callable[[Path], TraceInput]
    task_events: Callable[[TraceInput, Ledger], Frames]
    job_events: Callable[[TraceInput, Ledger], Frames] | None = None
    machine_events: Callable[[TraceInput, Ledger], Frames] | None = None
    usage: Callable[[TraceInput, Ledger], Frames] | None = None
    ordered: bool = True
    """Task events are published in time order; a row out of order is a fault."""
    starts_at_us: int = 0
    """When the trace begins; earlier rows describe the state before."""
    notes: Sequence[str] = field(default=())
    """What users must know about this form."""


def find_tables(given: Path, tables: Sequence[str], needed: str) -> TraceInput:
    """Find the tables of a trace in a folder, or in a file and the files beside it.

    For each table the first of: `<table>.<form>`, a folder `<table>`, files `<table>[-_.]<shard>.<form>`.
    A file of another name is taken as the needed table, alone.

    Raises:
        SchemaDrift: the needed table is not there.
    """
    if given.is_file():
        stem = _stem(given)
        if not any(stem == table for table in tables):
            return TraceInput(given.parent, {needed: (given,)})
        folder = given.parent
    else:
        folder = given
    found = {table: paths for table in tables if (paths := _files_of(folder, table))}
    if given.is_file():
        found[_stem(given)] = (given,)
    if needed not in found:
        shards = tuple(path for path in _tables_in(folder) if _SHARD.fullmatch(_stem(path)))
        if not shards:
            raise SchemaDrift(
                "missing-table", folder.name, needed, f"give {needed}.parquet or a folder {needed}"
            )
        found[needed] = shards
    read = {path for paths in found.values() for path in paths}
    return TraceInput(
        folder, found, tuple(path.name for path in _tables_in(folder) if path not in read)
    )


def _files_of(folder: Path, table: str) -> tuple[Path, ...]:
    inside = _tables_in(folder)
    exact = tuple(path for path in inside if _stem(path) == table)
    if exact:
        return exact[:1]
    if (folder / table).is_dir():
        return tuple(_tables_in(folder / table))
    return tuple(
        path
        for path in inside
        if _stem(path).startswith(table)
        and _SHARD.fullmatch(_stem(path)[len(table) :].lstrip("-_."))
    )


def _tables_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.name.endswith(_TABLE_SUFFIXES))


def _stem(path: Path) -> str:
    name = path.name
    for suffix in sorted(_TABLE_SUFFIXES, key=len, reverse=True):
        name = name.removesuffix(suffix)
    return name
