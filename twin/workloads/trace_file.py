"""Read and write workload files: node and arrival rows as CSV or JSON Lines.

The schema is in docs/workloads.md. Guarantee: what is written reads back equal; reading checks
every row before anything is played, so that a bad row cannot stop a run half way.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from bus.errors import InputError
from twin.workloads.arrival import NodeShape, WorkloadArrival
from twin.workloads.rows import ALL_FIELDS, Place, Row, read_row

CSV_SUFFIX = ".csv"
JSON_LINES_SUFFIX = ".jsonl"
COMMENT = "#"  # lines that start with it describe the file and are shown at start


def read_trace_file(
    path: Path,
) -> tuple[list[NodeShape], list[WorkloadArrival], list[str]]:
    """Nodes in file order, arrivals in order of time, and the comment lines.

    Raises InputError for a missing or unreadable file, an unknown suffix, or a bad row.
    """
    nodes: list[NodeShape] = []
    arrivals: list[WorkloadArrival] = []
    comments: list[str] = []
    seen: set[tuple[str, str, str]] = set()
    for line, row in _rows(path, comments):
        place = Place(path.name, line)
        item = read_row(row, place)
        owner = "" if isinstance(item, NodeShape) else item.namespace
        key = (type(item).__name__, owner, item.name)
        if key in seen:
            raise place.error("name", item.name, "give every node and every arrival its own name")
        seen.add(key)
        if isinstance(item, NodeShape):
            nodes.append(item)
        else:
            arrivals.append(item)
    if not nodes and not arrivals:
        raise InputError(field=str(path.name), value="no rows", remedy="add node and arrival rows")
    arrivals.sort(key=lambda arrival: arrival.time_seconds)
    return nodes, arrivals, comments


def write_trace_file(
    path: Path,
    nodes: Iterable[NodeShape],
    arrivals: Iterable[WorkloadArrival],
    comments: Iterable[str] = (),
) -> None:
    """Write a JSON Lines workload file, complete or not at all."""
    partial = path.with_name(path.name + ".partial")
    partial.parent.mkdir(parents=True, exist_ok=True)
    with partial.open("w", encoding="utf-8") as out:
        out.writelines(f"{COMMENT} {comment}\n" for comment in comments)
        for record, items in (("node", nodes), ("arrival", arrivals)):
            for item in items:
                out.write(json.dumps({"record": record, **asdict(item)}) + "\n")
    partial.replace(path)


def _rows(path: Path, comments: list[str]) -> Iterator[tuple[int, Row]]:
    readers = {CSV_SUFFIX: _csv_rows, JSON_LINES_SUFFIX: _json_rows}
    reader = readers.get(path.suffix)
    if reader is None:
        raise InputError(
            field="workload file",
            value=path.name,
            remedy="name it .csv or .jsonl (JSON Lines)",
        )
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            field="workload file",
            value=str(path),
            remedy=f"give a readable UTF-8 file ({error})",
        ) from error
    lines: list[tuple[int, str]] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith(COMMENT):
            comments.append(line.removeprefix(COMMENT).strip())
        elif line.strip():
            lines.append((number, line))
    yield from reader(path, lines)


def _csv_rows(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, Row]]:
    numbers = [number for number, _ in lines]
    cells = csv.reader((line for _, line in lines), strict=True)
    try:
        header = next(cells, [])
        for field in header:
            if field not in ALL_FIELDS or header.count(field) > 1:
                raise Place(path.name, numbers[0]).error(
                    "header", field, "use each once of: " + ", ".join(ALL_FIELDS)
                )
        for values in cells:
            place = Place(path.name, numbers[cells.line_num - 1])
            if len(values) != len(header):
                raise place.error("row", f"{len(values)} cells", f"give {len(header)} cells")
            yield place.line, dict(zip(header, values, strict=True))
    except csv.Error as error:
        line = numbers[min(cells.line_num, len(numbers)) - 1]
        raise Place(path.name, line).error("row", str(error), "write valid CSV") from error


def _json_rows(path: Path, lines: list[tuple[int, str]]) -> Iterator[tuple[int, Row]]:
    for number, line in lines:
        place = Place(path.name, number)
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise place.error("row", line[:60], f"write one JSON object ({error})") from error
        if not isinstance(row, dict):
            raise place.error("row", line[:60], "write one JSON object per line")
        for field in row:
            if field not in ALL_FIELDS:
                raise place.error(field, row[field], "use only: " + ", ".join(ALL_FIELDS))
        yield number, row
