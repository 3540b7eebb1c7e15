"""Workload files as parquet: the columns of docs/workloads.md, one row per node or arrival.

Guarantee: a parquet file means what the CSV file with the same cells means; it is checked by the
same code, and messages name its rows, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from bus.errors import InputError
from twin.port.workloads import (
    ALL_FIELDS,
    Complain,
    FileContent,
    NodeShape,
    PlacedRow,
    RowPlace,
    collect,
    header_problems,
    write_trace_file,
)

MOST_ROWS = 10_000_000
"""Rows of a file; equal cells are stored once, so a few bytes can stand for any number of them."""
MOST_COLUMNS = 1_000
"""Columns of a file."""
MOST_BYTES = 512 * 1024**2
"""Bytes of a file, as of the other forms of workload files."""


def check_parquet(
    path: Path, plain_nodes: Sequence[NodeShape]
) -> tuple[FileContent, list[InputError]]:
    """All that is wrong with a file, one error for each bad row, beside what is good in it."""
    content, errors = FileContent(), list[InputError]()
    try:
        collect(_rows(path, errors.append), path.name, content, plain_nodes, errors.append)
    except InputError as error:
        errors.append(error)
    return content, errors


def convert(path: Path, out_file: Path, plain_nodes: Sequence[NodeShape]) -> FileContent:
    """Write a parquet workload file as JSON Lines, which the twin reads.

    Raises InputError for the first bad row, or a file that is no parquet.
    """
    content, errors = check_parquet(path, plain_nodes)
    if errors:
        raise errors[0]
    content.comments.append(f"from {path.name}")
    write_trace_file(out_file, content.nodes, content.arrivals, content.comments)
    return content


def _rows(path: Path, complain: Complain) -> Iterator[PlacedRow]:
    table = _table(path, complain)
    for number, row in enumerate(table.iter_rows(named=True), start=1):
        yield RowPlace(path.name, number, "row"), row


def _table(path: Path, complain: Complain) -> pl.DataFrame:
    """Return the known columns; rows and columns are counted by the file's footer before any is read."""
    try:
        size = path.stat().st_size
        scan = pl.scan_parquet(path)
        columns = scan.collect_schema()
        rows: int = scan.select(pl.len()).collect().item()
        if size > MOST_BYTES or rows > MOST_ROWS or len(columns) > MOST_COLUMNS:
            value = f"{path.name} of {size} bytes, {rows} rows and {len(columns)} columns"
            remedy = f"keep to {MOST_BYTES} bytes, {MOST_ROWS} rows and {MOST_COLUMNS} columns"
            raise InputError("workload file", value, remedy)
        for field, value, remedy in header_problems(columns.names()):
            complain(InputError(f"{path.name} {field}", value, remedy))
        return scan.select([column for column in columns if column in ALL_FIELDS]).collect()
    except (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        reason = (str(error).splitlines() or ["unreadable"])[0]
        raise InputError("workload file", path.name, f"give a parquet file ({reason})") from error
