"""What an episode is played on: rows of a file of the predecessor's, or rows made of a trace's tables."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from bus.errors import InputError
from lab.recordings.predecessors.forms import TraceRow
from lab.recordings.predecessors.metrics import gathered, read_csv
from lab.recordings.predecessors.options import TABLES, Episode
from lab.recordings.predecessors.reading import Rows, fit, read_rows

ROWS_OF_THEIRS = "give a trace (rows with timestamp, nodes and tasks) or metrics (points with timestamp and node_id)"


@dataclass(frozen=True, slots=True)
class Source:
    """Rows to play, in the order of time, and what they were read from."""

    rows: Sequence[TraceRow]
    digest: str
    """SHA-256 of what was read."""


def read_source(path: Path, episode: Episode) -> Source:
    """Read what is played.

    Raises:
        InputError: the file is of no form that can be played, a row does not fit, or no row is left.
    """
    if episode.form in TABLES:
        return _of_tables(path, episode)
    numbered, where = _numbered(path, episode)
    chosen = numbered[episode.offset :][: episode.most_rows]
    rows = [
        _within(fit(TraceRow, path, number, content), episode.most_nodes)
        for number, content in chosen
    ]
    if not rows:
        raise InputError("--offset", episode.offset, f"the trace has {len(numbered)} rows")
    _check_order(f"{path.name}: {where}", chosen, rows)
    return Source(rows, hashlib.sha256(path.read_bytes()).hexdigest())


def _of_tables(path: Path, episode: Episode) -> Source:
    from lab.recordings.predecessors.from_tables import rows_of  # noqa: PLC0415 - loads polars
    from lab.recordings.predecessors.tables import read_tables  # noqa: PLC0415 - likewise
    from lab.traces.registry import event_reader  # noqa: PLC0415 - likewise

    assert episode.form is not None
    tables = read_tables(event_reader(episode.form, episode.common), path, episode.cell)
    return Source(rows_of(tables, episode.tables).rows, tables.digest)


def _numbered(path: Path, episode: Episode) -> tuple[Rows, str]:
    """Return rows of a trace with their numbers, and what the numbers count."""
    if path.name.endswith(".parquet") or path.is_dir():
        raise InputError("--form", "(not given)", f"say what it is: {', '.join(TABLES)}")
    rows = read_csv(path) if path.name.endswith(".csv") else None
    form = "trace"
    if rows is None:
        form, rows = read_rows(path)
    first = rows[0][1] if rows else {}
    if form != "trace" or not {"nodes", "node_id"} & first.keys():
        remedy = f"{ROWS_OF_THEIRS}; `recording import` reads event files"
        raise InputError("FILE", path, remedy)
    if "node_id" in first or episode.form == "metrics":
        made = gathered(path, rows, episode.interval_seconds)
        return [*enumerate(made, start=1)], "stretch"
    return rows, "row"


def _within(row: TraceRow, most_nodes: int | None) -> TraceRow:
    """Return a row with its first nodes by name alone, and the tasks on them and on none."""
    if most_nodes is None:
        return row
    names = sorted(node.node_id for node in row.nodes)
    left_out = set(names[most_nodes:])
    return row.model_copy(
        update={
            "nodes": [node for node in row.nodes if node.node_id not in left_out],
            "tasks": [task for task in row.tasks if task.node_id not in left_out],
        }
    )


def _check_order(where: str, chosen: Rows, rows: Sequence[TraceRow]) -> None:
    for (number, _), before, row in zip(chosen[1:], rows, rows[1:], strict=False):
        if row.timestamp <= before.timestamp:
            remedy = f"the row above has {before.timestamp:g}; sort the rows by time, one for each"
            raise InputError(f"{where} {number}: timestamp", f"{row.timestamp:g}", remedy)
