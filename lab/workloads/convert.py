"""Convert workload files between CSV, JSON Lines and parquet.

    python -m lab.workloads.convert IN OUT

The suffixes say what is what. Every row is checked on the way; a bad one stops it.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from bus.errors import InputError
from lab.workloads.parquet import check_parquet
from schemas.wording import count_text
from twin.port.workloads import (
    CSV_SUFFIX,
    JSON_LINES_SUFFIX,
    PARQUET_SUFFIX,
    FileContent,
    WorkloadArrival,
    check_trace_file,
    windows_text,
    write_trace_file,
)


def convert(source: Path, out_file: Path) -> FileContent:
    """Read `source`, check it, write it to `out_file`; return what it holds.

    Raises InputError for a bad row, or a suffix that is not known.
    """
    reader = check_parquet if source.suffix == PARQUET_SUFFIX else check_trace_file
    content, errors = reader(source, ())
    if errors:
        raise errors[0]
    if out_file.suffix == JSON_LINES_SUFFIX:
        write_trace_file(out_file, content.nodes, content.arrivals, content.comments)
    elif out_file.suffix in (PARQUET_SUFFIX, CSV_SUFFIX):
        table = _table(content)
        write = table.write_parquet if out_file.suffix == PARQUET_SUFFIX else table.write_csv
        write(out_file)
    else:
        known = f"{CSV_SUFFIX}, {JSON_LINES_SUFFIX}, {PARQUET_SUFFIX}"
        raise InputError("OUT", out_file, f"give a name that ends in one of {known}")
    return content


def _table(content: FileContent) -> pl.DataFrame:
    rows = [{"record": "node", **asdict(node)} for node in content.nodes]
    rows += [{"record": "arrival", **_cells(arrival)} for arrival in content.arrivals]
    for row in rows:
        for field in ("labels", "annotations"):
            pairs = row.get(field) or {}
            row[field] = ";".join(f"{key}={value}" for key, value in pairs.items()) or None
    return pl.DataFrame(rows, infer_schema_length=None)


def _cells(arrival: WorkloadArrival) -> dict[str, Any]:
    return {
        **asdict(arrival),
        "usage_windows": windows_text(arrival.usage_windows) or None,
        "start_nodes": ";".join(arrival.start_nodes) or None,
    }


def main(arguments: list[str] | None = None) -> int:
    """Command line; returns the exit code (2: bad input)."""
    parser = argparse.ArgumentParser(prog="python -m lab.workloads.convert", description=__doc__)
    parser.add_argument("source", type=Path, metavar="IN", help="a .csv, .jsonl or .parquet file")
    parser.add_argument(
        "out", type=Path, metavar="OUT", help="a new file; its suffix names the format"
    )
    options = parser.parse_args(arguments)
    try:
        content = convert(options.source, options.out)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    print(
        f"{options.out}: {count_text(len(content.nodes), 'node')}, {count_text(len(content.arrivals), 'arrival')}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
