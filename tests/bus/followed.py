"""A log in virtual time, and a small handler that writes down what a follower does with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from bus.clock import LoopClock
from bus.follow import AnyEvent, Follower, Publisher
from bus.item_errors import ItemErrors
from bus.memory_adapter import Faults, MemoryBus, MemoryLog
from bus.port import Message, Messages, StoredMessage
from bus.virtual_loop import run_virtual
from schemas.checkpoint import Checkpoint
from schemas.decision import Decision
from schemas.envelope import NewEvent
from schemas.model import DataModel
from schemas.observation import Observation
from schemas.registry import decode
from schemas.subjects import build
from tests.builders import ORIGIN, cycle_time, make_decision, make_observation

NAME = "referee"
DEADLINE_SECONDS = 5.0
MOST_QUESTIONS = 200
"""A follower that asks more often than this turns in a circle."""


class Tally(DataModel):
    """Which positions were applied, and which cycles wait for a decision."""

    applied: tuple[int, ...] = ()
    open: tuple[int, ...] = ()
    decided: tuple[int, ...] = ()


@dataclass
class TallyHandler:
    """Owes one decision per observed cycle; a patient one only when it is overdue."""

    patient: bool = False
    state_version: int = 1
    deadline_seconds: float | None = DEADLINE_SECONDS
    name: str = NAME
    reads: tuple[tuple[str, ...], ...] = (Observation.PATTERN, Decision.PATTERN)
    rebuilt_from: tuple[tuple[str, ...], ...] = ()
    asked: list[tuple[float, Tally, bool]] = field(default_factory=list)
    """Each question: at which virtual second, in which state, and whether it was overdue."""
    evolved: list[int] = field(default_factory=list)
    """Positions applied by this process, in order."""

    def initial(self) -> Tally:
        """Return the state before any event."""
        return Tally()

    def evolve(self, state: Tally, event: AnyEvent) -> Tally:
        """Note the position, open an observed cycle, close a decided one."""
        self.evolved.append(event.seq)
        noted = state.model_copy(update={"applied": (*state.applied, event.seq)})
        cycle = event.cycle
        if isinstance(event.data, Observation):
            return noted.model_copy(update={"open": (*state.open, cycle)})
        left = tuple(one for one in state.open if one != cycle)
        return noted.model_copy(update={"open": left, "decided": (*state.decided, cycle)})

    def decide(self, state: Tally, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return a decision for every open cycle, unless there is time to wait."""
        assert len(self.asked) < MOST_QUESTIONS, "the follower asks without end"
        self.asked.append((asyncio.get_running_loop().time(), state, overdue))
        if self.patient and not overdue:
            return ()
        return tuple(
            NewEvent(make_decision(cycle=cycle), cycle, cycle_time(cycle)) for cycle in state.open
        )

    def open_cycle(self, state: Tally) -> int | None:
        """Return the newest cycle without a decision."""
        return max(state.open, default=None)

    def questions(self) -> list[tuple[tuple[int, ...], bool]]:
        """Return the open cycles of each question, and whether it was overdue."""
        return [(state.open, overdue) for _, state, overdue in self.asked]


class HeldBus(MemoryBus):
    """A connection whose live feed holds back own decisions, and all that stands behind them, until
    `release` is set.
    """

    def __init__(self, log: MemoryLog, faults: Faults | None = None) -> None:
        """Connect; nothing is held until `release` is cleared."""
        super().__init__(log, ORIGIN.cluster, faults)
        self.release = asyncio.Event()
        self.release.set()
        self.before_publish: Callable[[], Awaitable[None]] | None = None
        """Called once, before the next own message is stored."""
        self.history_starts: list[int] = []

    async def publish(self, messages: Sequence[Message]) -> tuple[int, ...]:
        """Store messages, after what the test wants to stand before them."""
        first, self.before_publish = self.before_publish, None
        if first is not None:
            await first()
        return await super().publish(messages)

    async def read(self, subjects: Sequence[str], *, start_seq: int = 1) -> Messages:
        """Yield history and live messages, own decisions only when they are released."""
        async for message in super().read(subjects, start_seq=start_seq):
            if message.subject.endswith(".decision"):
                await self.release.wait()
            yield message

    async def history(
        self, subjects: Sequence[str], *, start_seq: int = 1, end_seq: int | None = None
    ) -> Messages:
        """Yield what is stored, and note from where it was asked for."""
        self.history_starts.append(start_seq)
        async for message in super().history(subjects, start_seq=start_seq, end_seq=end_seq):
            yield message


class World:
    """One log with its collector, and what a follower did; made inside the virtual loop."""

    def __init__(self) -> None:
        """Begin with an empty log."""
        self.log = MemoryLog()
        self.bus = HeldBus(self.log)
        self.acted: list[Tally] = []
        self.stored_when_acting: list[int] = []
        """How many messages the log held at each of these."""
        self.progress: list[tuple[str, int]] = []
        self.fails_acting = 0
        """How often acting raises from now on."""
        self._collector = Publisher(MemoryBus(self.log, ORIGIN.cluster), ORIGIN, "collector")

    async def observe(self, *cycles: int) -> None:
        """Store one observation per cycle."""
        for cycle in cycles:
            data = make_observation(1, cycle=cycle)
            await self._collector.publish([NewEvent(data, cycle, cycle_time(cycle))])

    async def decided(self, *cycles: int) -> None:
        """Store decisions that an earlier process made."""
        publisher = Publisher(MemoryBus(self.log, ORIGIN.cluster), ORIGIN, NAME)
        for cycle in cycles:
            await publisher.publish(
                [NewEvent(make_decision(cycle=cycle), cycle, cycle_time(cycle))]
            )

    async def checkpoint(self, cycle: int, folded_seq: int, state: Any, version: int = 1) -> None:
        """Store a checkpoint that an earlier process made."""
        data = Checkpoint(
            process=NAME, cycle=cycle, folded_seq=folded_seq, state_version=version, state=state
        )
        publisher = Publisher(MemoryBus(self.log, ORIGIN.cluster), ORIGIN, NAME)
        await publisher.publish([NewEvent(data, cycle, cycle_time(cycle))])

    async def junk(self, name: str) -> None:
        """Store a message on the observations' subject that is no event."""
        subject = build(ORIGIN.cluster, Observation.PATTERN)
        foreign = MemoryBus(self.log, ORIGIN.cluster)
        await foreign.publish([Message(subject, {"Nats-Msg-Id": name}, b"junk")])

    @asynccontextmanager
    async def following(
        self,
        handler: TallyHandler,
        *,
        acts: bool = False,
        checkpoint_cycles: int = 100,
        errors: ItemErrors | None = None,
    ) -> AsyncIterator[asyncio.Task[None]]:
        """Run a follower inside the block."""
        follower = Follower(
            handler,
            self.bus,
            LoopClock(0),
            Publisher(self.bus, ORIGIN, NAME),
            act=self._act if acts else None,
            checkpoint_cycles=checkpoint_cycles,
            on_progress=lambda state, seq: self.progress.append((state, seq)),
            errors=errors,
        )
        task = asyncio.create_task(follower.run())
        await asyncio.sleep(0.01)
        try:
            yield task
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task

    async def _act(self, state: Tally) -> None:
        if self.fails_acting:
            self.fails_acting -= 1
            raise RuntimeError("the effect failed")
        self.acted.append(state)
        self.stored_when_acting.append(self.log.last_seq)

    def stored(self, kind: type[Any]) -> list[tuple[StoredMessage, Any]]:
        """Return the stored messages of one type with their data."""
        found = [
            (message, decode(message.subject, message.headers, message.data).data)
            for message in self.log.messages
            if message.data != b"junk"
        ]
        return [(one, data) for one, data in found if isinstance(data, kind)]

    def decisions(self) -> list[int]:
        """Return the cycles of the stored decisions, in order."""
        return [data.cycle for _, data in self.stored(Decision)]


def in_virtual_time(scenario: Callable[[World], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario on virtual time, in a world of its own."""

    async def main() -> None:
        await scenario(World())

    run_virtual(main)


def checkpoint_state(folded_seq: int = 2) -> dict[str, Any]:
    """Return the state after the first cycles as a checkpoint holds it."""
    return Tally(applied=tuple(range(1, folded_seq + 1)), decided=(1,)).model_dump(mode="json")
