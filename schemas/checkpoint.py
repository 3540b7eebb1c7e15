"""Checkpoints: the stored state of a service's handler, so that a start need not read the whole log."""

from __future__ import annotations

from typing import ClassVar

from schemas.model import EventData
from schemas.numbers import Count, Cycle, JsonObject


class Checkpoint(EventData):
    """State of one service after every event up to `folded_seq`."""

    TYPE: ClassVar[str] = "foresail.checkpoint.v1"
    PRODUCER: ClassVar[str] = "*"
    PATTERN: ClassVar[tuple[str, ...]] = ("checkpoint", "*")

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
