"""The predecessor's raw metrics as rows of its trace: points of one node each, gathered by time, or whole rows.

A stretch's row takes of each node its last point and of each count its largest, as the predecessor did. It counted
every task as queued where no point gave a queue; a queue that nobody gave is left out here.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bus.errors import InputError
from inputs.limited_files import read_text_limited
from lab.recordings.predecessors.forms import PointRow
from lab.recordings.predecessors.reading import MOST_BYTES, Rows, fit

INTERVAL_SECONDS = 60.0
COUNTS = ("queue_length", "sla_violations", "completed_tasks", "energy_watts")
NODE = ("node_id", "cpu_util", "mem_util", "disk_util", "net_util", "power_state")
TASK = ("task_id", "node_id", "urgency", "queue_priority", "alive")


def read_csv(path: Path) -> Rows:
    """Return the lines of a CSV file with a header; empty cells are not said.

    Raises:
        InputError: a line is wider than the header.
    """
    reader = csv.DictReader(io.StringIO(read_text_limited(path, MOST_BYTES)))
    rows: Rows = []
    for number, row in enumerate(reader, start=1):
        if None in row:
            raise InputError(
                f"{path.name}: row {number}", row[None], "the header has fewer columns"
            )
        rows.append((number, {name: value for name, value in row.items() if value}))
    return rows


def gathered(path: Path, rows: Rows, interval_seconds: float | None) -> Iterator[dict[str, Any]]:
    """Yield rows of a trace, in the order of time.

    Raises:
        InputError: a row does not fit, or rows of both kinds stand in one file.
    """
    grouped = "nodes" in rows[0][1]
    for number, row in rows:
        if ("nodes" in row) is not grouped:
            kinds = ("a point of one node", "a row with nodes")
            found, first = kinds if grouped else kinds[::-1]
            remedy = f"row {rows[0][0]} is {first}; give each kind a file of its own"
            raise InputError(f"{path.name}: row {number}", found, remedy)
    if grouped:
        for _, row in rows:
            yield {"tasks": [], **row}
        return
    yield from _of_points(path, rows, interval_seconds or INTERVAL_SECONDS)


def _of_points(path: Path, rows: Rows, interval_seconds: float) -> Iterator[dict[str, Any]]:
    stretches: dict[float, dict[str, Any]] = {}
    for number, content in rows:
        point = fit(PointRow, path, number, content).model_dump(exclude_none=True)
        begin = point["timestamp"] - point["timestamp"] % interval_seconds
        row = stretches.setdefault(begin, {"timestamp": begin, "nodes": {}, "tasks": {}})
        row["nodes"][point["node_id"]] = {name: point[name] for name in NODE if name in point}
        if "task_id" in point:
            row["tasks"][point["task_id"]] = {name: point[name] for name in TASK if name in point}
        for name in COUNTS:
            if name in point:
                row[name] = max(point[name], row.get(name, 0))
        if "energy_price" in point:
            row["energy_price"] = point["energy_price"]
        if point.get("task_death"):
            row["task_death"] = True
    for _, row in sorted(stretches.items()):
        yield row | {"nodes": [*row["nodes"].values()], "tasks": [*row["tasks"].values()]}
