"""The untouched world: an engine that gets others' writes at their time, and passes no moment unasked.

Chance belongs to entities (`twin.chance`), so a world with the same writes is the same world: without an
action of the executor this one equals the acted one to the byte.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from services.cluster import JSON, ApiResponse, ItemTransport, Json, ListedItems, Method, Transport
from services.collector.collected import CollectedCycle
from services.twin_transport import InProcessCluster
from twin.port.api import WRITING, InProcessTwin, Request, Router
from twin.port.engine import Engine

SLICE_EVENTS = 250
"""Events that happen at once: some hundredths of a second of work, so that a machine on which many others want to
work does not take this process for one that hangs.
"""


@dataclass(frozen=True, slots=True)
class Write:
    """A request that changed the acted world, which its executor did not send."""

    time_seconds: float
    """Cluster time."""
    request: Request


class Writes(Protocol):
    """Where others' writes come from, in their order."""

    def until(self, time_seconds: float) -> Iterator[Write]:
        """Yield each write up to this cluster time that was not yielded before."""
        ...


class World(Protocol):
    """The world without us, as its collector needs it."""

    @property
    def cluster(self) -> InProcessCluster:
        """What the collector reads; reading lets no time pass."""
        ...

    def look_of(self, cycle: int) -> CollectedCycle | None:
        """Return what is to be seen at a cycle where that is known; None: `advance`, then read `cluster`."""
        ...

    def advance(self, until: float) -> Iterator[None]:
        """Let everything happen up to a cluster time; yields now and then, so that others get a turn."""
        ...


class UntouchedWorld:
    """One engine and the writes that are still to come."""

    def __init__(self, engine: Engine, writes: Writes, *, settles_at_requests: bool) -> None:
        """Take over an engine at the beginning of its world.

        With `settles_at_requests` what is due at the moment of a request happens before it, as in the twin
        in process; without, once a moment, as in the served twin.
        """
        self._engine = engine
        self._router = Router(engine)
        self._writes = writes
        self._settles_at_requests = settles_at_requests
        self.cluster = InProcessTwin(engine)
        """The world for a collector; reading lets no time pass."""
        engine.advance(engine.now)

    def look_of(self, cycle: int) -> CollectedCycle | None:
        """Nothing is known before it is read."""
        del cycle
        return None

    def advance(self, until: float) -> Iterator[None]:
        """Let everything happen up to a cluster time, others' writes included; never goes back.

        Yields after every few events, so that others get a turn.
        """
        for write in self._writes.until(until):
            yield from self._pass(write.time_seconds)
            self.apply(write.request)
        yield from self._pass(until)

    def apply(self, request: Request) -> None:
        """Let a write happen now; one that this world refuses changes nothing in it."""
        self._router.handle(request)

    def _pass(self, until: float) -> Iterator[None]:
        if until > self._engine.now or self._settles_at_requests:
            until = max(until, self._engine.now)
            while not self._engine.advance_some(until, SLICE_EVENTS):
                yield


class MirroredWrites:
    """Writes of the same process, kept until the untouched world has caught up."""

    def __init__(self) -> None:
        """Begin with none."""
        self._waiting: deque[tuple[int, Write]] = deque()
        self._written = 0
        self._looks: deque[tuple[float, int]] = deque()

    def note_write(self, write: Write) -> None:
        """Keep a write that was accepted."""
        self._waiting.append((self._written, write))
        self._written += 1

    def note_collected(self, time_seconds: float) -> None:
        """Keep which writes the acted world's collector sees: those before its first read at a moment."""
        if not self._looks or self._looks[-1][0] != time_seconds:
            self._looks.append((time_seconds, self._written))

    def forget(self) -> None:
        """Drop what was kept: the untouched world has it all."""
        self._waiting.clear()
        self._looks.clear()

    def until(self, time_seconds: float) -> Iterator[Write]:
        """Yield each write that a look at this cluster time saw, once."""
        seen = self._written
        while self._looks and self._looks[0][0] <= time_seconds:
            at, before = self._looks.popleft()
            seen = before if at == time_seconds else seen
        while self._waiting and self._waiting[0][0] < seen:
            yield self._waiting.popleft()[1]


class MirroringTransport:
    """Reaches the acted world, and notes for the untouched one what changed it and what was seen when."""

    def __init__(self, inner: Transport, writes: MirroredWrites) -> None:
        """Pass requests to `inner`."""
        self._inner = inner
        self._writes = writes

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request; see `Transport.request`. What was refused changed nothing."""
        answer = await self._inner.request(method, path, query, body, content_type)
        if method in WRITING:
            headers = {"content-type": content_type, "accept": JSON}
            raw = b"" if body is None else json.dumps(body).encode()
            request = Request(method, path, dict(query or {}), headers, raw)
            self._writes.note_write(Write(answer.cluster_time_seconds, request))
        else:
            self._writes.note_collected(answer.cluster_time_seconds)
        return answer

    async def list_items(self, path: str, query: Mapping[str, str]) -> ListedItems | None:
        """Send a GET of a list; see `services.cluster.ItemTransport`."""
        if not isinstance(self._inner, ItemTransport):
            return None
        listed = await self._inner.list_items(path, query)
        if listed is not None:
            self._writes.note_collected(listed.cluster_time_seconds)
        return listed

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()
