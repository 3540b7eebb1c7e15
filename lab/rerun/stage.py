"""One layer's producer in a re-run: what it is given, what it is asked, what it answers.

A stage is fed recorded events and asked for its own output where the recording holds one: which
cycles were answered at all, which were skipped and why, and how a cycle closed are facts of that
run and are never computed again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bus.port import StoredMessage
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.envelope import Draft, Event
from schemas.model import EventData

AnyEvent = Event[Any]
Pattern = tuple[str, ...]

WAITING_CYCLES = 1_000
"""Cycles of input that wait for the output they belong to; as many as a fold keeps open."""


Slot = tuple[str, int, str]
"""What tells events of one producer apart: type, cycle and key."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event with the message that it was read from."""

    event: AnyEvent
    message: StoredMessage
    old_type: str = ""
    """The type it was recorded as, when an upcaster made it what it is."""

    @property
    def slot(self) -> Slot:
        """Where it belongs."""
        return slot_of(self.event.data, self.event.cycle)


def slot_of(data: EventData, cycle: int) -> Slot:
    """Return where an event belongs among those of its producer."""
    return (data.TYPE, cycle, data.key())


@dataclass(frozen=True, slots=True)
class Pair:
    """A recorded event and what today's code says in its place."""

    process: str
    layer: str
    recorded: Recorded
    computed: Draft | None
    """None: today's code says nothing here."""
    grounded: bool = True
    """False: the recording does not hold what this event was computed from."""


class Stage(Protocol):
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
