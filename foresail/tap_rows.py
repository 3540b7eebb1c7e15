"""Full tables of a tapped observation or snapshot: what travels as deltas, as rows again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from foresail.log_source import Source
from schemas.envelope import Event
from schemas.frames import FramedData, FrameMismatch, FullState, apply_frame
from schemas.registry import UnknownEvent, decode

LONGEST_CELL = 60


@dataclass
class TableRebuilder:
    """Keeps the full state of each type; looks the chain up once where a tap begins inside one."""

    source: Source
    _states: dict[str, FullState] = field(default_factory=dict)
    _hopeless: dict[str, int] = field(default_factory=dict)
    """By type, the keyframe's cycle of a chain whose beginning is not in the log any more."""

    async def attach_tables(self, event: Event[Any]) -> bool:
        """Have an event carry its full state; False when the log does not hold what it needs."""
        data = event.data
        if not isinstance(data, FramedData):
            return True
        state = self._after(self._states.get(event.type), data)
        if state is None and self._hopeless.get(event.type) != data.frame.keyframe_cycle:
            state = self._after(await self._before(event), data)
        if state is None:
            self._hopeless[event.type] = data.frame.keyframe_cycle
            return False
        self._states[event.type] = state
        data.attach_full_state(state)
        return True

    async def _before(self, event: Event[Any]) -> FullState | None:
        """Return the state before an event, from the keyframe on; None when that is gone."""
        start = await self.source.start_of_cycle(event.data.frame.keyframe_cycle)
        state: FullState | None = None
        async with aclosing(self.source.messages(event.data.PATTERN, start_seq=start)) as messages:
            async for message in messages:
                if message.seq >= event.seq:
                    break
                try:
                    data = decode(message.subject, message.headers, message.data).data
                except UnknownEvent:
                    continue
                state = self._after(state, data) if isinstance(data, FramedData) else state
        return state

    @staticmethod
    def _after(before: FullState | None, data: FramedData) -> FullState | None:
        try:
            return apply_frame(before, data)
        except FrameMismatch:
            return None


def full_data(event: Event[Any]) -> dict[str, Any] | None:
    """Return an event's data as JSON values with its tables whole; None when it carries no state."""
    state = event.data.full_state if isinstance(event.data, FramedData) else None
    if state is None:
        return None
    data: dict[str, Any] = event.data.model_dump(mode="json")
    for name, table in state.tables.items():
        data[name] = _columns(table)
    return data


def row_lines(event: Event[Any]) -> Iterator[str]:
    """Yield one line for each row of the full tables, with every cell."""
    state = event.data.full_state if isinstance(event.data, FramedData) else None
    for name, table in ({} if state is None else state.tables).items():
        for number, row_id in enumerate(table.ids):
            cells = (
                f"{column}={_short(cell)}"
                for column, cell in table.row(number).items()
                if column != "ids"
            )
            yield f"{'':>9}{name}  {row_id}  {' '.join(cells)}"


def _columns(table: Any) -> Mapping[str, Any]:
    return {name: list(getattr(table, name)) for name in type(table).model_fields}


def _short(cell: object) -> str:
    text = "-" if cell is None else str(cell)
    return text if len(text) <= LONGEST_CELL else f"{text[:LONGEST_CELL]}..."
