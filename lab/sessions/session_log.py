"""The log of a session: who may write it, and what stands in it.

Of two runners that claim a session at the same moment the log takes one. Whoever claims it later takes it from
the one before, whose next event is refused (AnotherWriter): a runner that was only slow stops, and what it ran is
run by the other.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from bus.clock import Clock
from bus.events import event_of
from bus.follow import Publisher
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Bus
from bus.streams import StreamDeclaration
from lab.sessions.log_copy import PRODUCER
from projections.session_state import SessionState
from schemas import subjects
from schemas.envelope import NewEvent
from schemas.identity import Origin
from schemas.model import EventData
from schemas.session import (
    JobChange,
    PlannedJob,
    SessionAdvanced,
    SessionCancelRequested,
    SessionClaimed,
    SessionEnded,
    SessionPlanned,
    SessionRay,
    SessionStudy,
)

CLUSTER = "sessions"
"""Cluster of the log of a session that has its own server."""
EVENT_BYTES = 400_000
"""Bytes of jobs or changes in one event; the server takes a mebibyte."""
EVENT_ITEMS = 400
"""Objects are counted by whoever reads an event (`schemas.model.MOST_OBJECTS`)."""


class SessionLog:
    """One runner's, or reader's, connection to the log of a session."""

    def __init__(self, bus: Bus, origin: Origin, session: str, runner: str, clock: Clock) -> None:
        """Write as `runner`, which no other start of a runner is called."""
        self._bus = bus
        self._origin = origin
        self._clock = clock
        self._publisher = Publisher(bus, origin, PRODUCER)
        self._sequence = 0
        self._copies: list[Callable[[NewEvent], None]] = []
        self.session = session
        self.runner = runner

    async def read(self) -> SessionState:
        """Return how the session stands."""
        state = SessionState()
        patterns = (self._subject(SessionPlanned), self._subject(SessionCancelRequested))
        async with aclosing(self._bus.history(patterns)) as messages:
            async for message in messages:
                state.add(event_of(message))
        return state

    async def copy_into(self, copy: Callable[[NewEvent], None]) -> None:
        """Tell `copy` what is stored from now on, after how the session stands."""
        state = await self.read()
        self._copies.append(copy)
        jobs = list(state.planned.values())
        for some in _in_pieces(jobs):
            data = self._data(SessionPlanned, payload=state.payload, total=len(jobs), jobs=tuple(some))  # fmt: skip
            copy(self._event(data))
        for changes in _in_pieces([state.jobs[job.job_id] for job in jobs]):
            copy(self._event(self._data(SessionAdvanced, changes=tuple(changes))))

    async def plan(self, payload: Mapping[str, Any], jobs: Sequence[PlannedJob]) -> None:
        """Store what is to be done, in as many events as it needs."""
        for some in _in_pieces(jobs):
            await self._publish(
                SessionPlanned, payload=dict(payload), total=len(jobs), jobs=tuple(some)
            )

    async def claim(self, engine: str, host: str, limits: Mapping[str, Any]) -> None:
        """Take the session.

        Raises:
            AnotherWriter: another runner took it at the same moment.
        """
        await self._publish(SessionClaimed, engine=engine, host=host, limits=dict(limits))

    async def advance(self, changes: Sequence[JobChange]) -> None:
        """Store what became of jobs.

        Raises:
            AnotherWriter: another runner has taken the session.
        """
        for some in _in_pieces(changes):
            await self._publish(SessionAdvanced, changes=tuple(some))

    async def end(
        self,
        status: Literal["complete", "interrupted", "timed-out", "cancelled"],
        counts: Mapping[str, int],
        exit_code: int,
    ) -> None:
        """Store that this runner leaves the session."""
        await self._publish(SessionEnded, status=status, counts=dict(counts), exit_code=exit_code)

    async def note_study(self, **fields: Any) -> None:
        """Store how a search stands; fields as of `SessionStudy`."""
        await self._publish(SessionStudy, **fields)

    async def note_ray(self, **fields: Any) -> None:
        """Store how the Ray cluster fares; fields as of `SessionRay`."""
        await self._publish(SessionRay, **fields)

    async def request_cancel(self, reason: str) -> None:
        """Ask whoever runs the session to end it."""
        await self._publish(SessionCancelRequested, why=reason)

    async def cancel_requests(self) -> AsyncIterator[SessionCancelRequested]:
        """Yield every request to end the session, those that were made before, too."""
        async with aclosing(self._bus.read((self._subject(SessionCancelRequested),))) as messages:
            async for message in messages:
                yield event_of(message).data

    def _subject(self, kind: type[SessionPlanned | SessionCancelRequested]) -> str:
        return subjects.build(self._origin.cluster, (*kind.PATTERN[:2], self.session))

    async def _publish(self, kind: Any, **fields: Any) -> None:
        event = self._event(self._data(kind, **fields))
        await self._publisher.publish([event])
        for copy in self._copies:
            copy(event)

    def _data(self, kind: Any, **fields: Any) -> Any:
        self._sequence += 1
        return kind(session=self.session, runner=self.runner, sequence=self._sequence, **fields)

    def _event(self, data: EventData) -> NewEvent:
        return NewEvent(data, 0, self._clock.wall_ns() / 1e9)


def _in_pieces(items: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield items in groups that fit into an event."""
    piece: list[Any] = []
    size = 0
    for item in items:
        item_bytes = len(item.model_dump_json().encode())
        if piece and (size + item_bytes > EVENT_BYTES or len(piece) >= EVENT_ITEMS):
            yield piece
            piece, size = [], 0
        piece.append(item)
        size += item_bytes
    if piece:
        yield piece


@asynccontextmanager
async def embedded_log(
    folder: Path, session: str, runner: str, clock: Clock
) -> AsyncIterator[tuple[SessionLog, str]]:
    """Serve a session's log from its own folder meanwhile; yields the log and the server's URL."""
    server = NatsServer(folder / "nats")
    url = await server.start()
    try:
        await NatsBus.declare(url, _declaration(session))
        server.persist()
        async with connected_log(url, session, runner, clock) as log:
            yield log, url
    finally:
        await server.stop()


@asynccontextmanager
async def connected_log(
    url: str, session: str, runner: str, clock: Clock
) -> AsyncIterator[SessionLog]:
    """Connect to the log of a session that somebody serves."""
    bus = await NatsBus.connect(url, cluster=CLUSTER, stream=_declaration(session).name)
    try:
        yield SessionLog(bus, Origin(CLUSTER, session), session, runner, clock)
    finally:
        await bus.close()


def _declaration(session: str) -> StreamDeclaration:
    return StreamDeclaration.of(CLUSTER, session, max_age_seconds=0.0)


def server_url(path: Path) -> str:
    """Return where a running session's log is served; empty where nobody said so."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(content.get("url", "")) if isinstance(content, dict) else ""
