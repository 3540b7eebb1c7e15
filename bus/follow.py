"""Following the log: how every service starts, catches up, stays live and publishes.

A service is a pure handler of events. The `Follower` drives it: restore the newest checkpoint, apply
the log in order without publishing, then follow the tail. It asks `decide` only once every message
that has arrived is applied, so after an outage the service acts on the newest observation alone. No
event is published twice: a handler reads its own output, and an event's id is computed from what the
event is about.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any, Generic, Protocol, TypeVar

from bus.backlog import Backlog
from bus.cancellation import cancel_and_wait
from bus.checkpoint_state import read_state, stored_state
from bus.clock import Clock
from bus.errors import LogWentBack, MessageTooLarge
from bus.events import event_of, read_entry
from bus.item_errors import ItemErrors, ends_at_first_error
from bus.ordered_read import matches_any
from bus.port import Bus, Message, Messages, StoredMessage
from schemas import subjects
from schemas.checkpoint import Checkpoint
from schemas.config import Config
from schemas.envelope import Event, NewEvent, stamp
from schemas.frames import FramedData
from schemas.identity import Origin
from schemas.model import DataModel, EventData
from schemas.registry import UnknownEvent, encode

S = TypeVar("S", bound=DataModel)
AnyEvent = Event[Any]

RENEWED_EACH_CYCLE = frozenset(
    {"snapshot", "observation", "untouched", "prediction", "proposal", "decision"}
)
"""Layers whose event is replaced by that of the next cycle: without one, a cycle lacks a part, which every handler
knows. Without any other event (a command, a breaker, what itself has done) its state would be wrong for good."""

LARGE_BYTES = 128 * 1024
"""A message of more bytes takes long to decode, so other tasks get a turn after it."""
CHECKPOINT_BYTES_A_CYCLE = 4_000
"""Most bytes per cycle that one process spends on checkpoints: large states are stored less often."""
REMEMBERED_IDS = 20_000
"""Ids of own events kept, so that an event still on its way back is not published again."""


class Handler(Protocol[S]):
    """A service's behaviour: pure, and the same live, in re-runs and in simulation.

    A handler whose state is too large for a checkpoint names in `rebuilt_from` the patterns of events that hold
    the rest; applied twice they must change nothing.
    """

    @property
    def name(self) -> str:
        """The process, which is also the producer of its events."""
        ...

    @property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """Subject patterns after the cluster; they include the service's own output."""
        ...

    @property
    def state_version(self) -> int:
        """Version of the state's form; checkpoints of another version are ignored."""
        ...

    @property
    def deadline_seconds(self) -> float | None:
        """Wall seconds that an open cycle may wait before `decide` is called with `overdue`."""
        ...

    def initial(self) -> S:
        """Return the state before any event."""
        ...

    def evolve(self, state: S, event: AnyEvent) -> S:
        """Return the state after one stored event."""
        ...

    def decide(self, state: S, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return all events due in this state that the log does not hold yet."""
        ...

    def open_cycle(self, state: S) -> int | None:
        """Return the newest cycle that still waits for this service's output."""
        ...


class Publisher:
    """Stamps new events and publishes them in order, each id at most once; the tables of one cycle (a
    snapshot's) go as one atomic batch.
    """

    def __init__(self, bus: Bus, origin: Origin, producer: str) -> None:
        """Publish as `producer`; `publish_config` must come before the first event."""
        self._bus = bus
        self.origin = origin
        self.producer = producer
        self._config_hash = ""
        self._published: OrderedDict[str, None] = OrderedDict()
        self._stored: dict[str, int] = {}

    def newest_stored(self, patterns: Sequence[str]) -> int:
        """Return the position of the newest own event on the subjects of `patterns`; 0: none."""
        return max(
            (seq for subject, seq in self._stored.items() if matches_any(patterns, subject)),
            default=0,
        )

    async def publish_config(self, config: Config, time_seconds: float) -> None:
        """Publish the effective settings unless they are the newest already, and name their hash
        from now on.
        """
        self._config_hash = config.config_hash
        stored = await self._bus.last(subjects.build(self.origin.cluster, config.tokens()))
        if stored is not None:
            newest = event_of(stored)
            if newest.data.config_hash == config.config_hash:
                return
            config = config.model_copy(update={"replaces": newest.id})
        new_event = NewEvent(config, 0, time_seconds)
        await self._publish_batch(
            [stamp(new_event, self.origin, self.producer, config.config_hash)]
        )

    async def publish(self, new_events: Sequence[NewEvent]) -> tuple[Event[EventData], ...]:
        """Publish the events that were not published before; return those once they are stored."""
        events = [
            stamp(new_event, self.origin, self.producer, self._config_hash)
            for new_event in new_events
        ]
        first_of_id = {event.id: event for event in reversed(events)}
        unpublished = [
            event
            for event in events
            if event is first_of_id[event.id] and event.id not in self._published
        ]
        batches: dict[str, list[Event[EventData]]] = {}
        for event in unpublished:
            # An atomic batch costs the server twenty times a single message (ADR 0010), so only
            # tables that together form one state, and that no restart would complete, go as one.
            key = event.correlation_id if isinstance(event.data, FramedData) else event.id
            batches.setdefault(key, []).append(event)
        for batch in batches.values():
            await self._publish_batch(batch)
        return tuple(unpublished)

    async def _publish_batch(self, events: Sequence[Event[EventData]]) -> None:
        encoded = [encode(event) for event in events]
        stored = await self._bus.publish(
            [Message(message.subject, message.headers, message.data) for message in encoded]
        )
        for event, seq in zip(events, stored, strict=True):
            self._published[event.id] = None
            self._stored[event.subject] = max(seq, self._stored.get(event.subject, 0))
        while len(self._published) > REMEMBERED_IDS:
            self._published.popitem(last=False)


class Follower(Generic[S]):
    """Runs one handler over the log, from the newest checkpoint to the live tail."""

    def __init__(
        self,
        handler: Handler[S],
        bus: Bus,
        clock: Clock,
        publisher: Publisher,
        *,
        act: Callable[[S], Awaitable[None]] | None = None,
        checkpoint_cycles: int = 20,
        on_progress: Callable[[str, int], None] | None = None,
        errors: ItemErrors | None = None,
    ) -> None:
        """Drive `handler`.

        Args:
            handler: what the service does.
            bus: the log.
            clock: for the deadline.
            publisher: who says what the handler decides.
            act: called with the newest state after each step of a live service that has effects.
            checkpoint_cycles: least cycles between two checkpoints.
            on_progress: called with what it does and its position.
            errors: where errors of single events end; None: the first one ends the follower.
        """
        self._handler = handler
        self._bus = bus
        self._clock = clock
        self._publisher = publisher
        self._act = act
        self._least_spacing = self._spacing = checkpoint_cycles
        self._on_progress = on_progress or (lambda _state, _seq: None)
        import structlog  # noqa: PLC0415 - a re-run imports handlers and follows nothing

        self._log = structlog.get_logger(handler.name)
        self._errors = errors or ends_at_first_error(handler.name)
        self._state = handler.initial()
        self._seq = 0
        self._checkpoint_cycle = 0
        self._newest_cycle = 0
        self._time_seconds = 0.0
        self._patterns = tuple(
            subjects.pattern(publisher.origin.cluster, tokens) for tokens in handler.reads
        )
        self._opened: tuple[int, float] | None = None
        self._overdue_cycle: int | None = None

    @property
    def state(self) -> S:
        """The state after the newest applied event."""
        return self._state

    async def run(self) -> None:
        """Catch up without publishing, then follow the tail until cancelled."""
        await self._restore()
        await self._rebuild()
        patterns = self._patterns
        tail = (await self._bus.info()).last_seq
        self._on_progress("catching_up", self._seq)
        if tail > self._seq:
            async for message in self._bus.history(patterns, start_seq=self._seq + 1, end_seq=tail):
                self._apply_message(message)
        if tail < self._seq:
            raise LogWentBack(self._seq, tail)
        self._seq = tail
        self._on_progress("live", self._seq)
        await self._step()
        async with aclosing(self._bus.read(patterns, start_seq=self._seq + 1)) as messages:
            await self._follow(messages)

    async def _follow(self, messages: Messages) -> None:
        backlog = Backlog()
        reader = asyncio.create_task(backlog.fill(messages), name=f"{self._handler.name}-reader")
        reader.add_done_callback(backlog.end)
        try:
            while True:
                for message in await backlog.take(self._wait_seconds()):
                    self._apply_message(message)
                    if len(message.data) > LARGE_BYTES:
                        await asyncio.sleep(0)  # heartbeats go out between two large messages
                self._on_progress("live", self._seq)
                await self._step()
        finally:
            await cancel_and_wait(reader)

    def _apply_message(self, message: StoredMessage) -> None:
        if message.seq <= self._seq:
            return
        self._seq = message.seq
        if self._errors.stopped:
            return
        try:
            event = event_of(message)
        except UnknownEvent as error:
            self._log.warning(
                "skipped a message that is no event", seq=message.seq, error=str(error)
            )
            return
        with self._errors.item(f"read {event.type}", event.id, message.seq) as item:
            self._state = self._handler.evolve(self._state, event)
        if item.failed and not self._can_do_without(event):
            self._errors.stop(
                f"{event.type} at {message.seq} cannot be read, and nothing replaces it"
            )
        cycle_time = getattr(event.data, "cluster_time_seconds", None)
        if cycle_time is not None:
            self._time_seconds = max(self._time_seconds, cycle_time)
            self._newest_cycle = max(self._newest_cycle, event.cycle)

    def _can_do_without(self, event: AnyEvent) -> bool:
        layer = subjects.parse(event.subject).layer
        return layer in RENEWED_EACH_CYCLE and event.producer != self._handler.name

    async def _step(self) -> None:
        if self._behind_itself:
            # Its own events are still on their way back. Deciding without them could do the same
            # thing twice, or contradict what was done a moment ago.
            return
        cycle = self._handler.open_cycle(self._state)
        if cycle is None:
            self._opened = None
        elif self._opened is None or self._opened[0] != cycle:
            self._opened = (cycle, self._clock.monotonic())
        overdue = self._until_deadline() == 0.0
        if overdue:
            self._overdue_cycle = cycle
        if not self._errors.stopped:
            await self._decide(overdue=overdue)
        await self._errors.tell(
            self._bus,
            self._publisher.origin,
            self._handler.name,
            self._publisher.publish,
            self._seq,
            self._time_seconds,
        )

    async def _decide(self, *, overdue: bool) -> None:
        """Publish what is due, act, and keep the state; a cycle that fails is superseded by the next."""
        new_events: Sequence[NewEvent] = ()
        with self._errors.item("decide", self._newest_cycle):
            new_events = self._handler.decide(self._state, overdue=overdue)
        for new_event in new_events:
            kind = new_event.data.TYPE
            with self._errors.item(f"publish {kind}", new_event.data.key()):
                await self._publisher.publish([new_event])
        if self._act is not None:
            with self._errors.item("act", self._newest_cycle):
                await self._act(self._state)
        with self._errors.item("checkpoint", self._newest_cycle):
            await self._checkpoint()

    @property
    def _behind_itself(self) -> bool:
        """Whether an event that this process published is not applied yet."""
        return self._seq < self._publisher.newest_stored(self._patterns)

    def _wait_seconds(self) -> float | None:
        """Return how many seconds to wait for a message; None: until one comes."""
        if self._behind_itself:
            return None
        if self._opened is not None and self._opened[0] == self._overdue_cycle:
            return None
        return self._until_deadline()

    def _until_deadline(self) -> float | None:
        """Return the wall seconds left for the open cycle, 0.0 when overdue; None when no cycle waits."""
        if self._opened is None or self._handler.deadline_seconds is None:
            return None
        return max(0.0, self._opened[1] + self._handler.deadline_seconds - self._clock.monotonic())

    async def _checkpoint(self) -> None:
        if self._newest_cycle - self._checkpoint_cycle < self._spacing:
            return
        self._checkpoint_cycle = self._newest_cycle
        state, state_bytes = stored_state(self._state.model_dump(mode="json"))
        data = Checkpoint.model_construct(  # what is published is checked when it is written
            process=self._handler.name,
            cycle=self._newest_cycle,
            folded_seq=self._seq,
            state_version=self._handler.state_version,
            state=state,
        )
        self._set_spacing(state_bytes)
        try:
            await self._publisher.publish([NewEvent(data, self._newest_cycle, self._time_seconds)])
        except MessageTooLarge as error:
            self._log.warning("no checkpoint: a start reads the log instead", error=str(error))

    def _set_spacing(self, state_bytes: int) -> None:
        """Choose how many cycles lie between two checkpoints of that size."""
        self._spacing = max(self._least_spacing, state_bytes // CHECKPOINT_BYTES_A_CYCLE)

    async def _rebuild(self) -> None:
        """Apply again what the log holds of a state that no checkpoint has room for."""
        rebuilt_from: Sequence[tuple[str, ...]] = getattr(self._handler, "rebuilt_from", ())
        if not self._seq or not rebuilt_from:
            return
        cluster = self._publisher.origin.cluster
        patterns = tuple(subjects.pattern(cluster, tokens) for tokens in rebuilt_from)
        async for message in self._bus.history(patterns, start_seq=1, end_seq=self._seq):
            event = read_entry(message).event
            if event is not None:
                with self._errors.item(f"read {event.type}", event.id, message.seq):
                    self._state = self._handler.evolve(self._state, event)

    async def _restore(self) -> None:
        subject = subjects.build(self._publisher.origin.cluster, ("checkpoint", self._handler.name))
        stored = await self._bus.last(subject)
        if stored is None:
            return
        event = read_entry(stored).event
        data = None if event is None else event.data
        if isinstance(data, Checkpoint) and data.folded_seq >= stored.seq:
            # It was made from a longer log than this one.
            self._log.warning("ignored a checkpoint of another log", seq=data.folded_seq)
            return
        if isinstance(data, Checkpoint) and data.state_version == self._handler.state_version:
            try:
                state = read_state(data.state)
                self._state = type(self._state).model_validate(state, extra="ignore")
            except ValueError as error:
                self._log.warning("ignored a checkpoint that does not fit", error=str(error)[:200])
                return
            self._seq = data.folded_seq
            self._checkpoint_cycle = self._newest_cycle = data.cycle
            self._set_spacing(stored_state(state)[1])
            self._log.info("restored", seq=self._seq, cycle=data.cycle)
