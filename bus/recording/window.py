"""Which part of a log is meant: by position, by recorded time, by cycle, or by one decision."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from urllib.parse import unquote

from bus.errors import InputError
from bus.port import StoredMessage
from schemas import subjects
from schemas.identity import cycle_of

PATIENCE_CYCLES = 100
"""How many cycles behind a window of cycles its rewards and verifications are waited for."""
_OF_A_CYCLE = frozenset(
    ("snapshot", "observation", "reaction", "prediction", "proposal", "decision", "outcome")
)


class WindowUnit(StrEnum):
    """Unit of a window."""

    SEQ = "seq"
    TIME = "time"
    """Recorded time, nanoseconds since the Unix epoch."""
    CYCLE = "cycle"
    """A cycle is there with its rewards and verifications; its scored forecasts may come too late."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a log; None: open on that side."""

    by: WindowUnit
    first: int | None = None
    last: int | None = None

    def contains(self, message: StoredMessage) -> bool:
        """Say whether a message is meant."""
        value = self._value(message)
        if value is None:
            return False
        return (self.first is None or value >= self.first) and (
            self.last is None or value <= self.last
        )

    def is_past(self, message: StoredMessage) -> bool:
        """Say whether nothing behind this message can be meant."""
        if self.last is None:
            return False
        if self.by is not WindowUnit.CYCLE:
            return bool((self._value(message) or 0) > self.last)
        cycle = self._value(message)
        return cycle is not None and cycle > self.last + PATIENCE_CYCLES

    def __str__(self) -> str:
        """As it is written in a header."""
        first, last = ("" if bound is None else str(bound) for bound in (self.first, self.last))
        return f"{self.by} {first}..{last}"

    def _value(self, message: StoredMessage) -> int | None:
        if self.by is WindowUnit.SEQ:
            return message.seq
        if self.by is WindowUnit.TIME:
            return message.time_ns
        return cycle_of_message(message)


def cycle_of_message(message: StoredMessage) -> int | None:
    """Return the cycle that a message of the six layers is about; None for any other message, and
    for a scored forecast, which comes a horizon later.
    """
    if not _is_of_a_cycle(message.subject):
        return None
    try:
        return cycle_of(unquote(message.headers.get("ce-correlationid", "")))
    except ValueError:
        return None


def cycle_of_decision(messages: Iterable[StoredMessage], decision: str) -> int:
    """Return the cycle of a decision: `last`, the number of its cycle, or the beginning of its id.

    Raises:
        InputError: there is no such decision.
    """
    newest = None
    for message in messages:
        if _layer_of(message.subject) != "decision":
            continue
        cycle = cycle_of_message(message)
        if str(cycle) == decision or message.headers.get("ce-id", "").startswith(decision):
            newest = cycle
            break
        if decision == "last":
            newest = cycle
    if newest is None:
        remedy = "give `last`, a cycle that holds a decision, or the beginning of a decision's id"
        raise InputError("--decision", decision, remedy)
    return newest


@lru_cache(maxsize=4_096)
def _layer_of(subject: str) -> str:
    try:
        return subjects.parse(subject).layer
    except ValueError:
        return ""


@lru_cache(maxsize=4_096)
def _is_of_a_cycle(subject: str) -> bool:
    return _layer_of(subject) in _OF_A_CYCLE and not subject.endswith(".outcome.forecast")
