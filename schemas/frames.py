"""Keyframes and deltas: building them, and applying them to get the full state back.

A producer calls `frame_of`; a reader keeps a `FullState` and calls `apply_frame` for every event of the
type. The hash in each frame makes a lost or doubled delta an error at once instead of a wrong state
later.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from pydantic import PrivateAttr

from schemas.model import EventData, Retention
from schemas.numbers import Cycle
from schemas.tables import (
    Frame,
    Table,
    TableDelta,
    check_cells,
    columns_after,
    diff_tables,
    state_hash,
)


@dataclass(frozen=True, slots=True)
class FullState:
    """The full tables after a frame."""

    cycle: int
    keyframe_cycle: int
    tables: Mapping[str, Table] = field(default_factory=dict)
    hash: str = ""


class FramedData(EventData):
    """Event data whose tables travel as keyframes and deltas."""

    RETENTION: ClassVar[Retention] = Retention.FRAMED
    TABLES: ClassVar[tuple[str, ...]]
    """The fields that hold tables; None in a delta."""

    cycle: Cycle
    frame: Frame
    _full_state: FullState | None = PrivateAttr(default=None)
    """The full state after this frame, where a reader has computed and proven it already."""

    @property
    def full_state(self) -> FullState | None:
        """The full state after this frame, if a reader has computed it."""
        return self._full_state

    def attach_full_state(self, full: FullState) -> None:
        """Attach the full state, so that several readers share the work."""
        self._full_state = full

    def line(self) -> str:
        """Return whether it is a keyframe or a delta, and what `summary` says."""
        return f"{self.frame.frame}: {self.summary}".removesuffix(": ")

    @property
    def summary(self) -> str:
        """What the state holds, in a few words."""
        return ""


class FrameMismatch(ValueError):
    """A delta does not continue the state it is applied to (an event is missing or doubled)."""


AnyFramed = TypeVar("AnyFramed", bound=FramedData)


def frame_of(
    kind: type[AnyFramed],
    tables: Mapping[str, Table],
    *,
    cycle: int,
    previous: FullState | None,
    keyframe_every: int,
    **fields: Any,
) -> AnyFramed:
    """Build a keyframe, or a delta when `previous` continues a chain shorter than `keyframe_every`
    cycles.

    A delta that is not smaller than the state itself (most ids changed) becomes a keyframe.
    """
    digest = state_hash(tables)
    full = previous is None or cycle - previous.keyframe_cycle >= keyframe_every
    if not full and previous is not None:
        deltas = {name: diff_tables(previous.tables[name], tables[name]) for name in kind.TABLES}
        changed = sum(
            len(change.rows) for delta in deltas.values() for change in delta.cells.values()
        )
        cells = sum(len(table) * len(type(table).model_fields) for table in tables.values())
        if changed * 2 <= cells or cells == 0:
            frame = Frame(
                frame="delta",
                keyframe_cycle=previous.keyframe_cycle,
                previous_cycle=previous.cycle,
                state_hash=digest,
                deltas=deltas,
            )
            return kind(cycle=cycle, frame=frame, **dict.fromkeys(kind.TABLES), **fields)
    frame = Frame(frame="keyframe", keyframe_cycle=cycle, state_hash=digest)
    return kind(cycle=cycle, frame=frame, **{name: tables[name] for name in kind.TABLES}, **fields)


def apply_frame(previous: FullState | None, data: FramedData, *, prove: bool = True) -> FullState:
    """Return the full state after `data`.

    Args:
        previous: the state before it.
        data: a keyframe or a delta.
        prove: hold the result against the hash in the frame; without, the caller has proven the
            bytes and compares what is made of them.

    Raises:
        FrameMismatch: a delta without the state it builds on, or a hash that does not fit.
    """
    frame = data.frame
    if frame.frame == "keyframe":
        tables = {name: getattr(data, name) for name in data.TABLES}
        if any(table is None for table in tables.values()):
            raise FrameMismatch(f"keyframe of cycle {data.cycle} lacks a table")
    elif previous is None or previous.cycle != frame.previous_cycle or frame.deltas is None:
        have = "nothing" if previous is None else f"cycle {previous.cycle}"
        raise FrameMismatch(
            f"delta of cycle {data.cycle} builds on {frame.previous_cycle}, not on {have}"
        )
    elif data.full_state is None:
        try:
            tables = {
                name: _table_after(previous.tables[name], frame.deltas[name])
                for name in data.TABLES
            }
        except (KeyError, ValueError, TypeError) as error:
            raise FrameMismatch(f"delta of cycle {data.cycle} does not fit: {error}") from error
    if data.full_state is not None:
        return data.full_state
    state = FullState(data.cycle, frame.keyframe_cycle, tables, frame.state_hash)
    if prove:
        data.attach_full_state(_check_hash(state))  # for others who read the same event
    return state


def _table_after(table: Table, delta: TableDelta) -> Table:
    """Return a table after a delta; the hash says whether it is right."""
    columns = columns_after(table, delta)
    check_cells(type(table), delta, columns)
    return type(table).model_construct(None, **columns)


def _check_hash(state: FullState) -> FullState:
    if state_hash(state.tables) != state.hash:
        raise FrameMismatch(
            f"state after cycle {state.cycle} does not have the hash its frame names"
        )
    return state
