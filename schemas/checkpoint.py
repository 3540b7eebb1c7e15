"""Checkpoints: the stored state of a service's handler, so that a start need not read the whole log."""

from __future__ import annotations

from typing import ClassVar

from schemas.model import EVERY_STATEFUL, EventData, Retention
from schemas.numbers import Count, Cycle, JsonObject


class Checkpoint(EventData):
    """State of one service after every event up to `folded_seq`."""

    TYPE: ClassVar[str] = "foresail.checkpoint.v1"
    WRITER: ClassVar[str] = EVERY_STATEFUL
    PATTERN: ClassVar[tuple[str, ...]] = ("checkpoint", "*")
    RETENTION: ClassVar[Retention] = Retention.STATE

    process: str
    cycle: Cycle
    folded_seq: Count
    state_version: int
    """Version of the state's own form; an unknown one is ignored and the log is read instead."""
    state: JsonObject

    def tokens(self) -> tuple[str, ...]:
        """Return `checkpoint.<process>`."""
        return ("checkpoint", self.process)

    def key(self) -> str:
        """Return the process and the seq folded."""
        return f"{self.process}/{self.folded_seq}"

    def line(self) -> str:
        """Return whose state it is and after which event."""
        return f"state of {self.process} after seq {self.folded_seq}"
