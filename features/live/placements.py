"""Placements as columns that follow the snapshot's frames.

A placement table of a large cluster has 15,000 rows, of which a cycle changes a few. Unfolding it
as everybody else does (every cell validated, the whole state hashed) costs more than the prediction
itself, so here only what changed is touched. A lost frame is still seen: each delta names the cycle
that it builds on.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.codes import code_of, parts_of, program_of
from schemas.snapshot import PlacementTable, SnapshotPlacements
from schemas.tables import TableDelta

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
NUMBERS = ("pods", "cpu_request_cores", "memory_request_bytes")
"""Columns of the placement table that are kept."""


@dataclass(frozen=True, slots=True)
class Placements:
    """Pods by node and workload, in the order of `ids` (`<node>|<namespace>/<kind>/<name>`)."""

    cycle: int
    ids: tuple[str, ...]
    pods: I64
    cpu_request_cores: F64
    memory_request_bytes: I64
    job: I64
    name: I64
    user: I64
    machine: I64

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.ids)

    def row_of(self, row_id: str) -> int | None:
        """Return the number of a row; None when there is none."""
        place = bisect_left(self.ids, row_id)
        return place if place < len(self.ids) and self.ids[place] == row_id else None


def placements_after(previous: Placements | None, data: SnapshotPlacements) -> Placements | None:
    """Return the placements after one frame; None while the chain of frames is broken."""
    frame = data.frame
    if data.placements is not None:
        return placements_of(data.cycle, data.placements)
    if previous is None or previous.cycle != frame.previous_cycle or frame.deltas is None:
        return None
    changed = _apply_delta(previous, frame.deltas["placements"])
    return None if changed is None else replace(changed, cycle=data.cycle)


def placements_of(cycle: int, table: PlacementTable) -> Placements:
    """Return a whole table as columns."""
    return placements_from(cycle, table.ids, {name: getattr(table, name) for name in NUMBERS})


def placements_from(
    cycle: int, ids: tuple[str, ...], numbers: Mapping[str, Sequence[Any]]
) -> Placements:
    """Return rows by id with their numbers, the codes of their names beside them."""
    parts = [parts_of(row_id) for row_id in ids]
    return Placements(
        cycle=cycle,
        ids=ids,
        pods=np.array(numbers["pods"], dtype=np.int64),
        cpu_request_cores=np.array(numbers["cpu_request_cores"], dtype=np.float64),
        memory_request_bytes=np.array(numbers["memory_request_bytes"], dtype=np.int64),
        job=_codes([workload for _, workload, _ in parts]),
        name=_codes([program_of(workload) for _, workload, _ in parts]),
        user=_codes([namespace for _, _, namespace in parts]),
        machine=_codes([node for node, _, _ in parts]),
    )


def _codes(names: Sequence[str]) -> I64:
    return np.array([code_of(name) for name in names], dtype=np.int64)


def _apply_delta(placed: Placements, delta: TableDelta) -> Placements | None:
    """Return the rows after a delta; None when it does not fit them."""
    if delta.removed or delta.added:
        moved = _replace_rows(placed, delta)
        if moved is None:
            return None
        placed = moved
    columns: dict[str, Any] = {}
    for name in NUMBERS:
        change = delta.cells.get(name)
        if change is None:
            continue
        if any(not 0 <= row < len(placed) for row in change.rows):
            return None
        column = getattr(placed, name).copy()
        column[list(change.rows)] = change.values
        columns[name] = column
    return replace(placed, **columns)


def _replace_rows(placed: Placements, delta: TableDelta) -> Placements | None:
    """Take rows away and put new ones, still empty, in their places."""
    places: list[int] = []
    for row_id in sorted(delta.removed):
        row = placed.row_of(row_id)
        if row is None:
            return None
        places.append(row)
    ids = list(placed.ids)
    for place in sorted(places, reverse=True):
        del ids[place]
    added = tuple(sorted(delta.added))
    new = placements_from(placed.cycle, added, dict.fromkeys(NUMBERS, (0,) * len(added)))
    before = [bisect_left(ids, row_id) for row_id in added]
    for place, row_id in reversed(list(zip(before, added, strict=True))):
        ids.insert(place, row_id)
    columns = {
        name: np.insert(np.delete(getattr(placed, name), places), before, getattr(new, name))
        for name in (*NUMBERS, "job", "name", "user", "machine")
    }
    return Placements(cycle=placed.cycle, ids=tuple(ids), **columns)
