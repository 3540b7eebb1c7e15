"""Workload files as parquet: the columns of docs/workloads.md, one row per node or arrival.

Guarantee: a parquet file means what the CSV file with the same cells means; it is checked by the
same code, and messages name its rows, counted from 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl

from bus.errors import InputError
from twin.workloads.arrival import NodeShape
from twin.workloads.row_files import Complain, PlacedRow
from twin.workloads.rows import ALL_FIELDS, Place
from twin.workloads.trace_file import FileContent, collect, write_trace_file


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
    try:
        table = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise InputError("workload file", path.name, f"give a parquet file ({reason})") from error
    for column in table.columns:
        if column not in ALL_FIELDS:
            remedy = "use only: " + ", ".join(ALL_FIELDS)
            complain(InputError(f"{path.name} column", column, remedy))
    known = [column for column in table.columns if column in ALL_FIELDS]
    for number, row in enumerate(table.select(known).iter_rows(named=True), start=1):
        yield Place(path.name, number, "row"), row
