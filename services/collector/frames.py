"""Keyframes and deltas: what each table was when it was last published."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from schemas.frames import FramedData, FullState, frame_of
from schemas.tables import Table

F = TypeVar("F", bound=FramedData)


class Frames:
    """The newest frame of each type."""

    def __init__(self, keyframe_cycles: int) -> None:
        """Let a keyframe come after at most so many cycles."""
        self._keyframe_cycles = keyframe_cycles
        self._newest: dict[str, FullState] = {}

    def next(self, cycle: int, kind: type[F], tables: Mapping[str, Table], **fields: object) -> F:
        """Build a keyframe or delta and remember the state after it."""
        data = frame_of(
            kind,
            tables,
            cycle=cycle,
            previous=self._newest.get(kind.TYPE),
            keyframe_every=self._keyframe_cycles,
            **fields,
        )
        frame = data.frame
        self._newest[kind.TYPE] = FullState(cycle, frame.keyframe_cycle, tables, frame.state_hash)
        return data

    def clear(self) -> None:
        """Begin with keyframes again: what of the last ones was stored is not known."""
        self._newest.clear()
