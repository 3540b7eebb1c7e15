"""Columns, deltas and keyframes: applying frames gives back the state that was framed."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from schemas.frames import FrameMismatch, FullState, apply_frame, frame_of
from schemas.prediction import RiskTable
from schemas.snapshot import PodTable, SnapshotWorkloads, WorkloadTable
from schemas.tables import (
    TableDelta,
    apply_delta,
    check_cells,
    columns_after,
    diff_tables,
    state_hash,
    table_of,
)

rows = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=3),
    st.fixed_dictionaries(
        {
            "wanted": st.integers(0, 3),
            "ready": st.integers(0, 3),
            "succeeded": st.integers(0, 3),
            "failed": st.integers(0, 3),
            "suspended": st.booleans(),
            "created_time_seconds": st.floats(0, 9, allow_nan=False),
        }
    ),
    max_size=6,
)


@given(rows, rows)
def test_apply_undoes_diff(
    before: dict[str, dict[str, object]], after: dict[str, dict[str, object]]
) -> None:
    """A delta turns the old table into the new one, byte for byte, also after a trip through JSON."""
    old, new = table_of(WorkloadTable, before), table_of(WorkloadTable, after)
    delta = TableDelta.model_validate(
        json.loads(json.dumps(diff_tables(old, new).model_dump(mode="json")))
    )

    assert new.model_dump_json() == apply_delta(old, delta).model_dump_json()


@given(st.lists(rows, min_size=1, max_size=8), st.integers(1, 4))
def test_applying_a_chain_gives_every_state(
    states: list[dict[str, dict[str, object]]], every: int
) -> None:
    """Whatever mix of keyframes and deltas is sent, the reader holds the producer's state after
    each.
    """
    sent: FullState | None = None
    full_state: FullState | None = None
    for cycle, state in enumerate(states, start=1):
        tables = {"workloads": table_of(WorkloadTable, state), "pods": PodTable()}
        data = frame_of(
            SnapshotWorkloads,
            tables,
            cycle=cycle,
            previous=sent,
            keyframe_every=every,
            cluster_time_seconds=0.0,
            pods_running=0,
            pods_total=0,
            bare_pods_succeeded=0,
        )
        sent = apply_frame(sent, data)
        full_state = apply_frame(
            full_state, SnapshotWorkloads.read(data.model_dump_json().encode())
        )
        assert state_hash(tables) == full_state.hash
        assert tables == full_state.tables


def test_a_delta_without_its_base_is_refused() -> None:
    """A reader that missed an event hears of it instead of holding a wrong state."""
    tables = {"workloads": WorkloadTable(), "pods": PodTable()}
    fields = {
        "cluster_time_seconds": 0.0,
        "pods_running": 0,
        "pods_total": 0,
        "bare_pods_succeeded": 0,
    }
    first = apply_frame(
        None,
        frame_of(SnapshotWorkloads, tables, cycle=1, previous=None, keyframe_every=9, **fields),
    )
    delta = frame_of(SnapshotWorkloads, tables, cycle=2, previous=first, keyframe_every=9, **fields)

    assert delta.frame.frame == "delta"
    with pytest.raises(FrameMismatch, match="builds on 1, not on nothing"):
        apply_frame(None, delta)


def test_columns_of_unequal_length_are_refused() -> None:
    """A table whose columns do not fit its ids is no table."""
    with pytest.raises(ValidationError, match="1 cells for 2 rows"):
        RiskTable(ids=("a", "b"), risk_ratio=(0.5,))


def test_unsorted_ids_are_refused() -> None:
    """Row order is part of the bytes, so there is only one."""
    with pytest.raises(ValidationError, match="sorted"):
        RiskTable(ids=("b", "a"), risk_ratio=(0.5, 0.1))


def test_a_delta_that_leads_elsewhere_is_refused() -> None:
    """The hash in each frame catches a state that is not the producer's."""
    fields = {
        "cluster_time_seconds": 0.0,
        "pods_running": 0,
        "pods_total": 0,
        "bare_pods_succeeded": 0,
    }
    tables = {"workloads": WorkloadTable(), "pods": PodTable()}
    first = apply_frame(
        None,
        frame_of(SnapshotWorkloads, tables, cycle=1, previous=None, keyframe_every=9, **fields),
    )
    delta = frame_of(SnapshotWorkloads, tables, cycle=2, previous=first, keyframe_every=9, **fields)
    wrong = delta.model_copy(
        update={"frame": delta.frame.model_copy(update={"state_hash": "0" * 64})}
    )

    with pytest.raises(FrameMismatch, match="does not have the hash"):
        apply_frame(first, wrong)


@pytest.mark.parametrize(
    ("column", "value"),
    [("ready", "1"), ("ready", 1.0), ("ready", True), ("ready", None), ("suspended", 1),
     ("created_time_seconds", 5), ("created_time_seconds", "soon"), ("unknown", 1)],
)  # fmt: skip
def test_a_delta_of_other_types_is_refused(column: str, value: object) -> None:
    """A cell that is no cell of its column is refused, although the hash of the result is right."""
    row = {"wanted": 1, "ready": 0, "succeeded": 0, "failed": 0, "suspended": False}
    old = table_of(WorkloadTable, {"a": {**row, "created_time_seconds": 1.0}})
    absurd = WorkloadTable.model_construct(
        None,
        **{name: getattr(old, name) for name in WorkloadTable.model_fields} | {column: (value,)},
    )
    before = FullState(1, 1, {"workloads": old, "pods": PodTable()}, "")
    data = SnapshotWorkloads.model_validate(
        {
            "cycle": 2,
            "frame": {
                "frame": "delta",
                "keyframe_cycle": 1,
                "previous_cycle": 1,
                "state_hash": state_hash({"workloads": absurd, "pods": PodTable()}),
                "deltas": {
                    "workloads": {"cells": {column: {"rows": [0], "values": [value]}}},
                    "pods": {},
                },
            },
            "cluster_time_seconds": 1.0,
            "pods_running": 0,
            "pods_total": 0,
            "bare_pods_succeeded": 0,
            "workloads": None,
            "pods": None,
        }
    )
    with pytest.raises(FrameMismatch, match="another type"):
        apply_frame(before, data)


@pytest.mark.parametrize("added", ["a", "b"])
def test_an_added_row_is_whole_and_new(added: str) -> None:
    """A row without its cells, or with an id that is there already, is refused."""
    row = {"wanted": 1, "ready": 0, "succeeded": 0, "failed": 0, "suspended": False}
    old = table_of(WorkloadTable, {"a": {**row, "created_time_seconds": 1.0}})
    delta = TableDelta(added=(added,))
    with pytest.raises(ValueError, match="unique" if added == "a" else "lacks a cell"):
        check_cells(WorkloadTable, delta, columns_after(old, delta))


def test_equal_cells_that_are_written_differently_hash_differently() -> None:
    """Known facts about a column says nothing of 1 and 1.0 in its place; each hash is that of the JSON as it stands."""
    for cells in ((1, 0), (1.0, 0), (True, 0), (1, 0)):
        table = WorkloadTable.model_construct(
            None, ids=("a", "b"), **dict.fromkeys(list(WorkloadTable.model_fields)[1:], cells)
        )
        state = {"workloads": {name: getattr(table, name) for name in WorkloadTable.model_fields}}
        text = json.dumps(state, sort_keys=True, separators=(",", ":"))
        assert state_hash({"workloads": table}) == hashlib.sha256(text.encode()).hexdigest()


def test_a_state_is_hashed_while_another_thread_hashes_another() -> None:
    """A column that is compared with known ones while a further one becomes known is written as it stands."""

    def hash_of(wanted: tuple[int, ...]) -> str:
        ids = tuple(map(str, range(len(wanted))))
        columns = list(WorkloadTable.model_fields)[1:]
        cells: dict[str, Any] = dict.fromkeys(columns, tuple(range(len(wanted))))
        table = WorkloadTable.model_construct(None, **{**cells, "ids": ids, "wanted": wanted})
        return state_hash({"workloads": table})

    class InTurn(tuple[int, ...]):
        """Lets another state be hashed whenever it is compared."""

        __slots__ = ()

        def __len__(self) -> int:
            turns.append(len(turns))
            if len(turns) < 9:
                hash_of(tuple(range(100 + len(turns))))
            return super().__len__()

    turns: list[int] = [*range(9)]
    for number in range(4):
        hash_of(tuple(range(50 + number)))
    expected = hash_of(tuple(range(5)))
    turns.clear()
    assert hash_of(InTurn(range(5))) == expected
    assert len(turns) > 0
