"""The full tables of every kind of framed event, after the newest frame that could be applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from schemas.envelope import Event
from schemas.frames import FramedData, FrameMismatch, FullState, apply_frame
from schemas.tables import Table


@dataclass(slots=True)
class FrameStates:
    """Full states by event type."""

    states: dict[str, FullState] = field(default_factory=dict)

    def add(self, event: Event[Any]) -> FullState | None:
        """Apply a frame; return the full state after it.

        None where the frame continues a state that is not known (reading began inside a chain of
        deltas, or a frame is missing): the state of its type is unknown until the next keyframe.
        """
        data = event.data
        assert isinstance(data, FramedData), f"{event.type} has no frame"
        try:
            state = data.full_state or apply_frame(self.states.get(event.type), data)
        except FrameMismatch:
            self.states.pop(event.type, None)
            return None
        self.states[event.type] = state
        return state

    def tables(self) -> dict[str, Table]:
        """Return every table that is known, by name."""
        return {
            name: table for state in self.states.values() for name, table in state.tables.items()
        }
