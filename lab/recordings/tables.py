"""Recordings as tables: one parquet file for each family of events, one row for each thing told.

A family's columns are the fields of its schema: numbers as numbers, texts as texts, nested parts as
JSON. Every row begins with where the event stands and whose it is. Tables inside events (nodes,
pods, placements, predictions by node) become families of their own, rebuilt from keyframes and
deltas, a row for each id.
"""

from __future__ import annotations

import shutil
import types
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import polars as pl
from pydantic import BaseModel

from bus.errors import InputError
from bus.events import read_entry
from bus.nats_wire import nanoseconds
from bus.port import StoredMessage
from bus.recording.writer import PARTIAL
from projections.frame_states import FrameStates
from schemas.envelope import Event
from schemas.frames import FramedData
from schemas.model import EventData
from schemas.registry import to_json
from schemas.tables import Table

ROWS_A_PIECE = 50_000
"""Rows held in memory for one family before they are written."""
ENVELOPE: Mapping[str, Any] = {
    "seq": pl.Int64,
    "recorded_time": pl.Datetime("ns", "UTC"),
    "event_time": pl.Datetime("us", "UTC"),
    "cycle": pl.Int64,
    "id": pl.String,
    "producer": pl.String,
    "causes": pl.List(pl.String),
    "config_hash": pl.String,
}
"""Columns that every family begins with."""
OF_ENVELOPE = "cycle"
"""The one field that most data repeat."""
_PLAIN = {bool: pl.Boolean, int: pl.Int64, float: pl.Float64, str: pl.String}


@dataclass(slots=True)
class Written:
    """Summary of what was written."""

    rows: dict[str, int] = field(default_factory=dict)
    """By family."""
    unreadable: int = 0
    """Messages that are no events today's schemas know."""
    unresolved: int = 0
    """Deltas before their keyframe, whose tables are not known."""


def write_tables(messages: Iterable[StoredMessage], folder: Path) -> Written:
    """Write a parquet file for each family into a new folder.

    Memory holds one piece of each family, whatever the recording's length.

    Raises:
        InputError: the folder exists or cannot be made.
    """
    partial = folder.with_name(folder.name + PARTIAL)
    try:
        if folder.exists():
            raise InputError("FOLDER", folder, "give a new folder; nothing is overwritten")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        tables = _Tables(partial)
        for message in messages:
            tables.take(message)
        written = tables.finish()
        partial.rename(folder)
    except OSError as error:
        remedy = f"give a folder that can be written ({error.strerror})"
        raise InputError("FOLDER", folder, remedy) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return written


class _Tables:
    """The open families."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._families: dict[str, _Family] = {}
        self._states = FrameStates()
        self._written = Written()

    def take(self, message: StoredMessage) -> None:
        """Add the rows of one message."""
        event = read_entry(message).event
        if event is None:
            self._written.unreadable += 1
            return
        name = event.type.removeprefix("foresail.")
        family = self._family(name, type(event.data))
        family.add(_envelope(event) | _cells(event.data, family.kind))
        for table_name, table in self._tables_of(event):
            rows = self._family(f"{name}.{table_name}", type(table))
            rows.add_all(_envelope(event), table)

    def finish(self) -> Written:
        """Close every family."""
        for name, family in sorted(self._families.items()):
            self._written.rows[name] = family.close()
        return self._written

    def _family(self, name: str, kind: type[BaseModel]) -> _Family:
        if name not in self._families:
            self._families[name] = _Family(self._folder / f"{name}.parquet", kind)
        return self._families[name]

    def _tables_of(self, event: Event[Any]) -> Iterator[tuple[str, Table]]:
        data = event.data
        if isinstance(data, FramedData):
            state = self._states.add(event)
            if state is None:
                self._written.unresolved += 1
            else:
                yield from state.tables.items()
            return
        for name, value in data:
            if isinstance(value, Table):
                yield name, value


class _Family:
    """One parquet file, written in pieces."""

    def __init__(self, path: Path, kind: type[BaseModel]) -> None:
        self.kind = kind
        self._path = path
        self._schema = {**ENVELOPE, **_columns(kind)}
        self._columns: dict[str, list[Any]] = {name: [] for name in self._schema}
        self._pieces: list[Path] = []
        self._rows = 0

    def add(self, row: Mapping[str, Any]) -> None:
        """Add one row."""
        for name, cells in self._columns.items():
            cells.append(row.get(name))
        self._count(1)

    def add_all(self, envelope: Mapping[str, Any], table: Table) -> None:
        """Add a row for each id of a table."""
        rows = len(table)
        for name, value in envelope.items():
            self._columns[name].extend([value] * rows)
        for name, column in table:
            self._columns[name].extend(column)
        self._count(rows)

    def close(self) -> int:
        """Write what is left, join the pieces, and return how many rows there are."""
        self._write()
        pl.scan_parquet(self._pieces).sink_parquet(self._path)
        for piece in self._pieces:
            piece.unlink()
        return self._rows

    def _count(self, rows: int) -> None:
        self._rows += rows
        if len(self._columns["seq"]) >= ROWS_A_PIECE:
            self._write()

    def _write(self) -> None:
        piece = self._path.with_suffix(f".{len(self._pieces)}.part")
        pl.DataFrame(self._columns, schema=self._schema).write_parquet(piece)
        self._pieces.append(piece)
        for cells in self._columns.values():
            cells.clear()


def _envelope(event: Event[Any]) -> dict[str, Any]:
    return {
        "seq": event.seq,
        "recorded_time": event.recorded_ns,
        "event_time": nanoseconds(event.time) // 1_000,
        "cycle": event.cycle,
        "id": event.id,
        "producer": event.producer,
        "causes": list(event.causation_ids),
        "config_hash": event.config_hash,
    }


def _cells(data: EventData, kind: type[BaseModel]) -> dict[str, Any]:
    """Return an event's own columns; what has parts becomes JSON."""
    content = data.model_dump(mode="json")
    cells = {}
    for name, info in kind.model_fields.items():
        if name != OF_ENVELOPE and not _holds_table(info.annotation):
            value = content.get(name)  # empty optional parts are not written
            plain = value is None or _plain(info.annotation) is not None
            cells[name] = value if plain else to_json(value).decode()
    return cells


def _columns(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the columns of a schema with their types."""
    columns = {}
    for name, info in kind.model_fields.items():
        if issubclass(kind, Table):
            columns[name] = _PLAIN[_plain(get_args(info.annotation)[0]) or str]
        elif name != OF_ENVELOPE and not _holds_table(info.annotation):
            columns[name] = _PLAIN[_plain(info.annotation) or str]
    return columns


def _plain(annotation: Any) -> type | None:
    """Return the plain type behind an annotation; None for what has parts."""
    options = _options(annotation)
    if len(options) != 1:
        return None
    if get_origin(options[0]) is Literal:
        return str
    option = options[0]
    return next((t for t in _PLAIN if isinstance(option, type) and issubclass(option, t)), None)


def _holds_table(annotation: Any) -> bool:
    return any(
        isinstance(option, type) and issubclass(option, Table) for option in _options(annotation)
    )


def _options(annotation: Any) -> list[Any]:
    """Return what a value may be besides None, without the constraints on it."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _options(get_args(annotation)[0])
    if origin in {Union, types.UnionType}:
        return [option for argument in get_args(annotation) for option in _options(argument)]
    return [] if annotation is types.NoneType else [annotation]
