"""Control: what the operator says while the stack runs."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from schemas.model import EventData, Retention
from schemas.numbers import Seconds

EVERYTHING = "all"
"""What `undo` names for everything that stands."""


class Command(StrEnum):
    """Commands of an operator."""

    KILL = "kill"
    """Stop acting at once and until `resume`: the kill switch."""
    PAUSE = "pause"
    """Stop starting new executions; running ones finish."""
    RESUME = "resume"
    """Take back kill or pause."""
    MODE = "mode"
    """Set the executor's mode to `value`."""
    REARM = "rearm"
    """Close the tripped breaker `value` (`replicate`); empty: every one."""
    UNDO = "undo"
    """Take back every part of cycle `value` (`17`), one of its parts, from 0 (`17.1`), or `all` that stands."""


class Control(EventData):
    """One command of the operator."""

    TYPE: ClassVar[str] = "foresail.control.v1"
    WRITER: ClassVar[str] = "operator"
    PATTERN: ClassVar[tuple[str, ...]] = ("control",)
    RETENTION: ClassVar[Retention] = Retention.STANDING

    command: Command
    value: str = ""
    nonce: str
    """Makes two equal commands two events."""
    wall_time_seconds: Seconds
    """The operator's own clock."""
    text: str = ""

    def key(self) -> str:
        """Return the nonce."""
        return self.nonce

    def line(self) -> str:
        """Return the command with its value."""
        return f"{self.command} {self.value}".rstrip()
