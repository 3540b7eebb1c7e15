"""Publishes a recording again: at its own pace, faster, as fast as possible, or cycle by cycle.

What is published keeps its id, source, cycle, causes, trace and data. Only the cluster in its
subject is another one, and the log gives it a new position and a new recorded time; a header names
the former two.

What is due at one moment is published as one atomic batch, so a player that is behind its pace waits for one
acknowledgement instead of many. The order stays, and a pause, a step or another speed holds from the next batch on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from bus.clock import Clock
from bus.expectations import message_id
from bus.port import Bus, Message, StoredMessage
from bus.recording.format import rfc3339_nanoseconds
from bus.recording.window import cycle_of_message
from foresail.replay_place import RECORDED
from schemas import subjects

NANOSECONDS = 1_000_000_000
FASTER = 2.0
MOST_AT_ONCE = 32
"""Messages of one batch, far below the 1,000 of a server: after each, the others on this loop have their turn."""
MOST_BYTES = 256 * 1024
"""Of the data of one batch; a larger message goes alone."""


@dataclass(slots=True)
class Played:
    """How far a replay is."""

    messages: int = 0
    seq: int = 0
    """Position in the recording of the newest message."""
    time_ns: int = 0
    """Its recorded time."""
    cycle: int = 0
    paused: bool = False
    done: bool = False


class Player:
    """Plays messages on a bus; may be paused, stepped and made faster or slower meanwhile."""

    def __init__(
        self,
        bus: Bus,
        cluster: str,
        clock: Clock,
        *,
        speed: float | None = 1.0,
        paused: bool = False,
        stepping: bool = False,
    ) -> None:
        """Play as `cluster`.

        Args:
            bus: a connection that may publish there.
            cluster: the replay's name, `replay-<run>`.
            clock: paces.
            speed: times the original pace; None: as fast as possible.
            paused: wait before the first message that is paced.
            stepping: wait before each cycle.
        """
        self._bus = bus
        self._cluster = cluster
        self._clock = clock
        self.speed = speed
        self.stepping = stepping
        self.played = Played(paused=paused)
        self._steps = 0
        self._in_step = False
        self._changed = asyncio.Event()
        self._begun = False
        self._cycle = 0
        """The newest of what was taken from the recording, published or not yet."""
        self._newest: dict[str, str] = {}
        """Id of the newest message that was published on a subject."""
        self._anchor: tuple[float, int] | None = None
        """A moment of the clock, and the recorded time that belongs to it."""

    async def play(self, messages: Iterable[StoredMessage], from_seq: int) -> None:
        """Publish messages in order; those before `from_seq` at once, the rest at their pace.

        Raises:
            AnotherWriter: somebody else publishes in this cluster.
            BusUnavailable: the log does not answer.
        """
        due: list[StoredMessage] = []
        for message in messages:
            paced = message.seq >= from_seq
            if due and (_full(due, message) or (paced and not self._is_due(message))):
                await self._publish(due)
                due = []
            if paced:
                await self._turn(message)
                self._begun = True
            due.append(message)
            self._cycle = max(self._cycle, cycle_of_message(message) or 0)
        if due:
            await self._publish(due)
        self.played.done = True

    async def _publish(self, due: Sequence[StoredMessage]) -> None:
        """Publish what is due: together, unless a message was recorded twice, which the log passes over alone, but
        would refuse in a batch, or take the batch for one that it holds.
        """
        messages = [replay_message(message, self._cluster) for message in due]
        ids = {message_id(message.headers) for message in messages}
        known = {self._newest.get(message.subject, "") for message in messages}
        together = len(ids) == len(messages) and ids.isdisjoint(known)
        for batch in [messages] if together else [[message] for message in messages]:
            await self._bus.publish(batch)
        self._newest.update((one.subject, message_id(one.headers)) for one in messages)
        played, newest = self.played, due[-1]
        played.messages += len(due)
        played.seq, played.time_ns, played.cycle = newest.seq, newest.time_ns, self._cycle

    def pause(self) -> None:
        """Pause, or go on."""
        self.played.paused = not self.played.paused
        self.stepping = False
        self._change()

    def step(self) -> None:
        """Play one more cycle, then pause."""
        self.played.paused = True
        self._steps += 1
        self._change()

    def set_speed(self, speed: float | None) -> None:
        """Play so many times as fast as the original; None: as fast as possible."""
        self.speed = speed
        self._change()

    def hasten(self, factor: float) -> None:
        """Play so many times as fast as now."""
        self.set_speed((self.speed or 1.0) * factor)

    def _change(self) -> None:
        self._anchor = None
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _turn(self, message: StoredMessage) -> None:
        """Wait until it is this message's turn."""
        if self._pauses_before(message):
            self._in_step, self.played.paused = False, True
        while True:
            changed = self._changed
            if self.played.paused and not self._in_step:
                if self._steps > 0:
                    self._steps -= 1
                    self._in_step = True
                    return
                await changed.wait()
                continue
            wait_seconds = 0.0 if self._in_step else self._wait_seconds(message)
            if wait_seconds <= 0:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await changed.wait()

    def _is_due(self, message: StoredMessage) -> bool:
        """Say whether `_turn` would let a message go without waiting."""
        if self._pauses_before(message) or (self.played.paused and not self._in_step):
            return False
        return self._in_step or self._wait_seconds(message) <= 0

    def _pauses_before(self, message: StoredMessage) -> bool:
        cycle = cycle_of_message(message)
        begins_cycle = cycle is not None and cycle > self._cycle
        return begins_cycle and (self.stepping or self._in_step)

    def _wait_seconds(self, message: StoredMessage) -> float:
        if self.speed is None:
            return 0.0
        now = self._clock.monotonic()
        if self._anchor is None:
            self._anchor = (now, self.played.time_ns if self._begun else message.time_ns)
        began, began_ns = self._anchor
        due = began + (message.time_ns - began_ns) / NANOSECONDS / self.speed
        return due - now


def _full(due: Sequence[StoredMessage], message: StoredMessage) -> bool:
    """Say whether a message would make a batch too large."""
    size = sum(len(one.data) for one in due) + len(message.data)
    return len(due) >= MOST_AT_ONCE or size > MOST_BYTES


def replay_message(message: StoredMessage, cluster: str) -> Message:
    """Return a stored message as it is published again, in another cluster."""
    tokens = subjects.parse(message.subject).tokens
    headers = {**message.headers, RECORDED: f"{message.seq} {rfc3339_nanoseconds(message.time_ns)}"}
    return Message(subjects.build(cluster, tokens), headers, message.data)
