"""One layer's producer in a re-run: what it is given, what it is asked, what it answers.

A stage is fed recorded events and asked for its own output where the recording holds one: which
cycles were answered at all, which were skipped and why, and how a cycle closed are facts of that
run and are never computed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from bus.port import StoredMessage
from lab.rerun.trusted import event_with, read_event
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.envelope import Event, NewEvent
from schemas.identity import cycle_of
from schemas.registry import UnknownEvent
from schemas.upcast import UPCASTERS

AnyEvent = Event[Any]
Pattern = tuple[str, ...]

WAITING_CYCLES = 1_000
"""Cycles of input that wait for the output they belong to; as many as a handler keeps open."""


class Recorded:
    """A recorded output: what its headers say, and its event once somebody asks for it.

    An output that is computed again to the last byte need not be read: the computed one is it.
    """

    __slots__ = ("_event", "content", "cycle", "id", "message", "old_type")

    def __init__(self, message: StoredMessage, attributes: Mapping[str, str]) -> None:
        """Take a message.

        Raises:
            UnknownEvent: it has no id, no cycle, or no JSON object.
        """
        self.message = message
        self._event: AnyEvent | None = None
        try:
            self.id = attributes["id"]
            self.cycle = cycle_of(attributes["correlationid"])
            kind = attributes["type"]
            self.content: dict[str, Any] = orjson.loads(message.data)
        except (KeyError, ValueError) as error:
            raise UnknownEvent(f"{message.subject}: {error}") from error
        self.old_type = kind if kind in UPCASTERS else ""
        """The type it was recorded as, when an upcaster makes it what it is."""

    @property
    def event(self) -> AnyEvent:
        """The event.

        Raises:
            UnknownEvent: the data do not fit.
        """
        if self._event is None:
            self._event = read_event(self.message)
        return self._event

    def is_said_by(self, new_event: NewEvent) -> None:
        """Note that a new event is this event, to the last byte."""
        if self._event is None:
            self._event = event_with(self.message, new_event.data)


@dataclass(frozen=True, slots=True)
class Pair:
    """A recorded event and what today's code says in its place."""

    process: str
    layer: str
    recorded: Recorded
    computed: NewEvent | None
    """None: today's code publishes nothing here."""
    equal: bool
    """Equal in id, subject, causes and data bytes."""
    grounded: bool = True
    """False: the recording does not hold what this event was computed from."""


class RerunStage(Protocol):
    """A producer that is re-run."""

    process: str
    layer: str

    @property
    def reads(self) -> tuple[Pattern, ...]:
        """Subject patterns after the cluster of its inputs."""
        ...

    @property
    def writes(self) -> tuple[Pattern, ...]:
        """Subject patterns of its output."""
        ...

    @property
    def ready(self) -> bool:
        """Whether it was configured."""
        ...

    def configure(self, config: Config) -> None:
        """Take the settings that the process announced.

        Raises:
            InputError: today's code cannot run with them.
        """
        ...

    def restore(self, checkpoint: Checkpoint) -> None:
        """Take a stored state, if the state is not known yet."""
        ...

    def take(self, event: AnyEvent) -> None:
        """Take one input."""
        ...

    def answer(self, recorded: Recorded) -> Sequence[Pair]:
        """Take the next recorded output; return what can be compared now."""
        ...

    def finish(self) -> Sequence[Pair]:
        """Return what was still waiting at the recording's end."""
        ...
