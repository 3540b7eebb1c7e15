"""Full tables of a tapped observation or snapshot: what travels as deltas, as rows again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from bus.events import read_events
from foresail.log_source import Source
from projections.figures import cell
from projections.frame_states import FrameStates
from schemas.envelope import Event
from schemas.frames import FramedData

LONGEST_CELL = 60


@dataclass
class TableRebuilder:
    """Keeps the full state of each type; looks the chain up once where a tap begins inside one."""

    source: Source
    _states: FrameStates = field(default_factory=FrameStates)
    _hopeless: dict[str, int] = field(default_factory=dict)
    """By type, the keyframe's cycle of a chain whose beginning is not in the log any more."""

    async def attach_tables(self, event: Event[Any]) -> bool:
        """Have an event carry its full state; False when the log does not hold what it needs."""
        data = event.data
        if not isinstance(data, FramedData):
            return True
        state = self._states.add(event)
        if state is None and self._hopeless.get(event.type) != data.frame.keyframe_cycle:
            await self._read_chain(event)
            state = self._states.add(event)
        if state is None:
            self._hopeless[event.type] = data.frame.keyframe_cycle
            return False
        data.attach_full_state(state)
        return True

    async def _read_chain(self, event: Event[Any]) -> None:
        """Read the frames from an event's keyframe up to the event."""
        start = await self.source.start_of_cycle(event.data.frame.keyframe_cycle)
        messages = self.source.messages(event.data.PATTERN, start_seq=start)
        async with aclosing(read_events(messages)) as entries:
            async for entry in entries:
                if entry.seq >= event.seq:
                    break
                if entry.event is not None and isinstance(entry.event.data, FramedData):
                    self._states.add(entry.event)


def row_lines(event: Event[Any]) -> Iterator[str]:
    """Yield one line for each row of the full tables, with every cell."""
    state = event.data.full_state if isinstance(event.data, FramedData) else None
    for name, table in ({} if state is None else state.tables).items():
        for number, row_id in enumerate(table.ids):
            cells = (
                f"{column}={_short(value)}"
                for column, value in table.row(number).items()
                if column != "ids"
            )
            yield f"{'':>9}{name}  {row_id}  {' '.join(cells)}"


def _short(value: object) -> str:
    text = cell(value)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}..."
