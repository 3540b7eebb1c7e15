"""Read, check and write workload files: node and arrival rows as CSV or JSON Lines.

The schema is in docs/workloads.md. Guarantee: what is written reads back equal; reading checks
every row, and whether every request fits some node, before anything is played, so that a bad row
cannot stop a run half way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from inputs.errors import InputError
from twin.workloads.arrival import NodeShape, WorkloadArrival
from twin.workloads.largest_node import LargestNode
from twin.workloads.row_files import COMMENT, Complain, PlacedRow, read_rows
from twin.workloads.row_place import RowPlace
from twin.workloads.rows import read_row

_OPTIONAL = ("usage_windows", "start_nodes", "cordoned", "annotations", "traffic", "autoscaler", "history",
             "request_cpu_seconds", "request_cv", "request_timeout_seconds", "request_workers", "ready_seconds",
             "late_after_seconds", "active_deadline_seconds", "attempts")  # fmt: skip
"""Left out of written rows when they say nothing."""


@dataclass(slots=True)
class FileContent:
    """What a workload file holds."""

    nodes: list[NodeShape] = field(default_factory=list)
    arrivals: list[WorkloadArrival] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


def read_trace_file(
    path: Path, plain_nodes: Sequence[NodeShape] = ()
) -> tuple[list[NodeShape], list[WorkloadArrival], list[str]]:
    """Nodes in file order, arrivals in order of time, and the comment lines.

    `plain_nodes` are what a file without node rows is played on. Raises InputError for a missing
    or unreadable file, an unknown suffix, a bad row, or a request that no node could hold.
    """

    def complain(error: InputError) -> None:
        raise error

    content = FileContent()
    rows = read_rows(path, content.comments, complain)
    collect(rows, path.name, content, plain_nodes, complain)
    return content.nodes, content.arrivals, content.comments


def check_trace_file(
    path: Path, plain_nodes: Sequence[NodeShape] = ()
) -> tuple[FileContent, list[InputError]]:
    """All that is wrong with a file, one error for each bad row, beside what is good in it."""
    content, errors = FileContent(), list[InputError]()
    try:
        rows = read_rows(path, content.comments, errors.append)
        collect(rows, path.name, content, plain_nodes, errors.append)
    except InputError as error:
        errors.append(error)
    return content, errors


def collect(
    rows: Iterable[PlacedRow],
    file_name: str,
    content: FileContent,
    plain_nodes: Sequence[NodeShape],
    complain: Complain,
) -> None:
    """Check `rows` and add them to `content`, arrivals in order of time."""
    placed: list[tuple[RowPlace, WorkloadArrival]] = []
    seen: set[tuple[str, str, str]] = set()
    for place, row in rows:
        try:
            item = read_row(row, place)
            _note_name(item, place, seen)
        except InputError as error:
            complain(error)
            continue
        if isinstance(item, NodeShape):
            content.nodes.append(item)
        else:
            placed.append((place, item))
    if not content.nodes and not placed:
        complain(InputError(field=file_name, value="no rows", remedy="add node and arrival rows"))
    _check_room(placed, content.nodes or plain_nodes, complain)
    content.arrivals += [arrival for _, arrival in placed]
    content.arrivals.sort(key=lambda arrival: arrival.time_seconds)


def _note_name(
    item: NodeShape | WorkloadArrival, place: RowPlace, seen: set[tuple[str, str, str]]
) -> None:
    owner = "" if isinstance(item, NodeShape) else item.namespace
    key = (type(item).__name__, owner, item.name)
    if key in seen:
        raise place.error("name", item.name, "give every node and every arrival its own name")
    seen.add(key)


def _check_room(
    placed: Iterable[tuple[RowPlace, WorkloadArrival]],
    nodes: Sequence[NodeShape],
    complain: Complain,
) -> None:
    if not nodes:
        return
    room = LargestNode(nodes)
    names = {node.name for node in nodes}
    for place, arrival in placed:
        misfit = room.misfit(arrival)
        if misfit is not None:
            complain(place.error(*misfit))
        for name in arrival.start_nodes:
            if name not in names:
                complain(place.error("start_nodes", name, "name a node row of this file"))


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
                row = {key: value for key, value in asdict(item).items()
                       if value or key not in _OPTIONAL}  # fmt: skip
                out.write(json.dumps({"record": record, **row}) + "\n")
    partial.replace(path)
