"""Read one table file, in bounded pieces, whatever its form: parquet, CSV or JSON lines, plain or gzip.

Guarantee: a frame holds the columns that were asked for, in the types that were asked for, with
`row`, the row's number in its file (from 1, headers not counted). A cell of another type, a row
of another width, a header or file of another kind is a named fault; nothing is coerced silently.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from lab.traces.delimited import delimited_rows
from lab.traces.json_lines import json_rows
from lab.traces.repair import RepairLog, RowCheck, SchemaDrift

BATCH_ROWS = 250_000


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    name: str
    dtype: type[pl.DataType]
    required: bool = True
    also: tuple[str, ...] = ()
    """Other names it is published under; `a.b` is field b of record a."""
    source: str = ""
    """Its name in files whose columns are called otherwise; then no other name is looked for."""
    default: str | None = None
    """What stands where a row says nothing."""
    flag: bool = False
    """A number that may be written as true and false."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names to look for, in this order."""
        return (self.source,) if self.source else (self.name, *self.also)

    @property
    def is_time(self) -> bool:
        """Whether it counts microseconds, and so may be a date or duration of any unit."""
        return re.fullmatch(r"(.*_)?(time|us)", self.name) is not None


@dataclass(frozen=True)
class TableForm:
    """Form of a published table."""

    trace: str
    table: str
    columns: tuple[Column, ...]
    headerless: bool = False
    """Its CSV parts have no header: the columns stand in this order."""
    foreign: Mapping[str, str] = ()  # type: ignore[assignment]
    """A column of another trace's table -> that trace, to say what the file really is."""

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]


def read_table(path: Path, form: TableForm, ledger: RepairLog) -> Iterator[pl.DataFrame]:
    """Yield a file's rows in order, typed, in frames of at most about `BATCH_ROWS` rows.

    Raises:
        SchemaDrift: the file is not in the form; or a row is not, and repair is off.
    """
    if path.stat().st_size == 0:
        raise empty(path)
    rows = 0
    for frame in _raw(path, form, ledger):
        rows += frame.height
        yield _cast_cells(frame, form, path.name, ledger)
    if rows == 0:
        raise empty(path)


def empty(path: Path) -> SchemaDrift:
    """Return the fault of a file without rows."""
    return SchemaDrift("empty", path.name, "0 rows", "give a file with rows")


def _raw(path: Path, form: TableForm, ledger: RepairLog) -> Iterator[pl.DataFrame]:
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        return _parquet(path, form)
    if name.endswith((".json", ".jsonl", ".ndjson")):
        return json_rows(
            path, _wanted_columns(form), lambda names: _check_names(path.name, names, form)
        )
    return delimited_rows(
        path,
        form.names if form.headerless else None,
        lambda names: _check_names(path.name, names, form),
        ledger,
    )


def _wanted_columns(form: TableForm) -> dict[str, tuple[str, ...]]:
    return {column.name: column.names for column in form.columns}


def _parquet(path: Path, form: TableForm) -> Iterator[pl.DataFrame]:
    try:
        scan = pl.scan_parquet(path)
        schema = scan.collect_schema()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged_file(path, error) from error
    flat = {name: pl.col(name) for name in schema}
    for name, dtype in schema.items():
        if isinstance(dtype, pl.Struct):
            flat |= {
                f"{name}.{inner.name}": pl.col(name).struct.field(inner.name)
                for inner in dtype.fields
            }
    chosen = _check_names(path.name, list(flat), form)
    first = 1
    try:
        for frame in scan.select(
            flat[source].alias(name) for name, source in chosen.items()
        ).collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
            if frame.height:
                yield frame.with_row_index("row", offset=first).cast({"row": pl.Int64})
            first += frame.height
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged_file(path, error) from error


def _damaged_file(path: Path, error: Exception) -> SchemaDrift:
    reason = (str(error).splitlines() or ["no reason given"])[0]
    return SchemaDrift("damaged", path.name, reason, "copy or download the file again")


def _check_names(file: str, names: Sequence[str], form: TableForm) -> dict[str, str]:
    """Return column -> the name it has in this file; raises SchemaDrift for what is missing."""
    here = set(names)
    for name, trace in dict(form.foreign).items():
        if name in here:
            raise SchemaDrift(
                "wrong-trace",
                f"{file} column",
                name,
                f"this is a table of {trace}; use --trace {trace}",
            )
    chosen: dict[str, str] = {}
    for column in form.columns:
        source = next((name for name in column.names if name in here), None)
        if source is not None:
            chosen[column.name] = source
        elif column.required:
            shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
            raise SchemaDrift(
                "missing-column",
                f"{file} column {column.names[0]}",
                "not there",
                f"{_wanted_by(column, form)}; found {shown}",
            )
    return chosen


def _wanted_by(column: Column, form: TableForm) -> str:
    if column.source:
        return f"the mapping says that it is {column.name}"
    return f"{form.trace} {form.table} has it"


def _cast_cells(frame: pl.DataFrame, form: TableForm, file: str, ledger: RepairLog) -> pl.DataFrame:
    """Cast to the form's types; cells that cannot be cast are faults of their row.

    Raises:
        SchemaDrift: a column's own type does not mean what the form's does; or a cell, and repair is off.
    """
    checks, cells = [], []
    for column in form.columns:
        if column.name not in frame.columns:
            cells.append(pl.lit(column.default, column.dtype).alias(column.name))
            continue
        stored = frame.schema[column.name]
        if not _same_meaning(column, stored):
            expected = f"expected {_word(column.dtype)}"
            raise SchemaDrift("wrong-type", f"{file} column {column.name}", stored, expected)
        cell = pl.col(column.name)
        cast = _cast(cell, stored, column.dtype)
        cells.append(cast if column.default is None else cast.fill_null(column.default))
        if stored != column.dtype:
            lost = cell.is_not_null() & cast.is_null()
            checks.append(
                RowCheck("wrong-type", column.name, lost, f"expected {_word(column.dtype)}")
            )
    return ledger.judge(frame, file, checks).select("row", *cells)


def _same_meaning(column: Column, stored: pl.DataType) -> bool:
    """Say whether values of a stored type can be what the column counts or names."""
    if isinstance(stored, pl.Datetime | pl.Duration):
        return column.is_time
    if stored == pl.Boolean:
        return column.flag
    text = stored in {pl.String, pl.Null} or isinstance(stored, pl.Categorical | pl.Enum)
    return text or stored.is_numeric()


def _cast(cell: pl.Expr, stored_type: pl.DataType, target_type: type[pl.DataType]) -> pl.Expr:
    if isinstance(stored_type, pl.Datetime):
        cell = cell.dt.epoch("us")
    elif isinstance(stored_type, pl.Duration):
        cell = cell.dt.total_microseconds()
    elif isinstance(stored_type, pl.Categorical | pl.Enum):
        cell = cell.cast(pl.String)  # its codes are numbers, too, and mean nothing
    elif (stored_type.is_float() or stored_type.is_decimal()) and target_type.is_integer():
        whole = cell.cast(target_type, strict=False)
        return pl.when(whole.cast(stored_type, strict=False) == cell).then(whole)
    return cell.cast(target_type, strict=False)


def _word(dtype: type[pl.DataType]) -> str:
    return "a whole number" if dtype.is_integer() else "a number" if dtype.is_numeric() else "text"
