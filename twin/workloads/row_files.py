"""Rows of a workload file, before anybody asks what they mean: CSV and JSON Lines.

Guarantee: each row comes with its line number, and what is no row is complained about, not skipped
in silence.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from inputs.close_matches import remedy_for
from inputs.errors import InputError
from inputs.limited_files import BadFile, read_text_limited
from inputs.limited_json import BadJson, load_json
from twin.workloads.row_place import RowPlace
from twin.workloads.rows import ALL_FIELDS, Row

CSV_SUFFIX = ".csv"
JSON_LINES_SUFFIX = ".jsonl"
PARQUET_SUFFIX = ".parquet"
RECORD = "record"
"""The column that every row has."""
COMMENT = "#"  # lines that start with it describe the file and are shown at start
LONGEST_SHOWN = 60
MOST_BYTES = 512 * 1024**2
"""Bytes of a file; ten million arrivals have about as many."""
LONGEST_LINE = 65_536
"""Characters of a line; a row has about a hundred."""
MOST_UNKNOWN = 20
"""Unknown fields of one row that are complained about."""
DEEPEST = 8
"""Lists and objects inside one another in a JSON row."""

_LINE_END = re.compile(r"\r\n|\r|\n")
"""`str.splitlines` also ends lines where CSV and JSON do not, such as at a form feed."""

Complain = Callable[[InputError], None]
"""Raises (a run must not start), or collects (somebody wants to see every bad row)."""
PlacedRow = tuple[RowPlace, Row]


def read_rows(path: Path, comments: list[str], complain: Complain) -> Iterator[PlacedRow]:
    """Rows in file order; comment lines are added to `comments`.

    Raises InputError for a file that cannot be read or has another suffix.
    """
    readers = {CSV_SUFFIX: _csv_rows, JSON_LINES_SUFFIX: _json_rows}
    reader = readers.get(path.suffix)
    if reader is None:
        hint = "convert it: python -m lab.workloads.convert IN.parquet OUT.jsonl"
        plain = "name it .csv or .jsonl (JSON Lines)"
        remedy = hint if path.suffix == PARQUET_SUFFIX else plain
        raise InputError(field="workload file", value=path.name, remedy=remedy)
    try:
        text = read_text_limited(path, MOST_BYTES, "utf-8-sig")
    except (OSError, BadFile) as error:
        remedy = f"give a readable UTF-8 file ({getattr(error, 'strerror', None) or error})"
        raise InputError(field="workload file", value=str(path), remedy=remedy) from error
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(_LINE_END.split(text), start=1):
        if len(line) > LONGEST_LINE:
            remedy = f"keep it below {LONGEST_LINE} characters"
            complain(
                RowPlace(path.name, number, folder=path.parent).error(
                    "row", f"{len(line)} characters", remedy
                )
            )
        elif line.startswith(COMMENT):
            comments.append(line.removeprefix(COMMENT).strip())
        elif line.strip():
            lines.append((number, line))
    yield from reader(path, lines, complain)


def _csv_rows(path: Path, lines: list[tuple[int, str]], complain: Complain) -> Iterator[PlacedRow]:
    numbers = [number for number, _ in lines]
    cells = csv.reader((line for _, line in lines), strict=True)
    first = 0  # line of the row that is being read, where its first quote is
    try:
        header = next(cells, [])
        if len(header) > len(ALL_FIELDS):
            remedy = f"there are no more than {len(ALL_FIELDS)} fields"
            complain(
                RowPlace(path.name, numbers[0]).error("header", f"{len(header)} columns", remedy)
            )
            return
        for problem in header_problems(header) if header else ():
            complain(RowPlace(path.name, numbers[0]).error(*problem))
        if RECORD not in header:
            return
        first = cells.line_num
        for values in cells:
            place = RowPlace(path.name, numbers[first], folder=path.parent)
            first = cells.line_num
            if len(values) != len(header):
                remedy = f"give {len(header)} cells"
                complain(place.error("row", f"{len(values)} cells", remedy))
                continue
            yield place, {key: value for key, value in zip(header, values, strict=True)
                          if key in ALL_FIELDS}  # fmt: skip
    except csv.Error as error:
        opens = first + _opening_line([line for _, line in lines[first:]])
        remedy = "write valid CSV: a quote that opens in this line is not closed before a comma"
        complain(RowPlace(path.name, numbers[opens]).error("row", str(error), remedy))


def _opening_line(lines: list[str]) -> int:
    """Return in which of the lines the quote opens that is never closed, or not where a cell ends."""
    opened: int | None = None
    for number, line in enumerate(lines):
        place = 0
        while place < len(line):
            quote, after = line[place] == '"', line[place + 1 : place + 2]
            if opened is None:
                opens = quote and (place == 0 or line[place - 1] == ",")
                opened = number if opens else None
            elif quote and after == '"':
                place += 1
            elif quote and after not in ("", ","):
                return opened
            elif quote:
                opened = None
            place += 1
    return opened or 0


def header_problems(columns: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield what is wrong with the names of a table's columns: field, value, remedy."""
    for name, count in Counter(columns).items():
        if name not in ALL_FIELDS:
            yield "column", name, _near_field(name)
        elif count > 1:
            yield "column", name, f"it is there {count} times; leave one"
    if RECORD not in columns:
        yield (
            f"column {RECORD}",
            "(missing)",
            "add it: it says of each row what it is, such as node",
        )


def _near_field(name: str) -> str:
    near = remedy_for(name, ALL_FIELDS)
    return near if near.startswith("did") else "leave it out; docs/workloads.md has every column"


def _json_rows(path: Path, lines: list[tuple[int, str]], complain: Complain) -> Iterator[PlacedRow]:
    for number, line in lines:
        place = RowPlace(path.name, number, folder=path.parent)
        shown = line[:LONGEST_SHOWN]
        try:
            row = load_json(line, most_bytes=LONGEST_LINE, deepest=DEEPEST)
        except BadJson as error:
            complain(place.error("row", shown, f"write one JSON object ({error})"))
            continue
        if not isinstance(row, dict):
            complain(place.error("row", shown, "write one JSON object per line"))
            continue
        unknown = [field for field in row if field not in ALL_FIELDS][:MOST_UNKNOWN]
        for field in unknown:
            complain(place.error(field, row[field], _near_field(field)))
        if not unknown:
            yield place, row
