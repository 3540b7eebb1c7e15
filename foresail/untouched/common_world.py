"""One world as long as nobody has acted: the untouched one begins as a copy, just before the executor's first write.

Until then what the acted world's collector sees is what the other's would see, so nothing is simulated or
read twice. For virtual time, where both worlds are in one process.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from foresail.untouched.world import MirroredWrites, UntouchedWorld
from services.cluster import JSON, ApiResponse, ItemTransport, Json, ListedItems, Method, Transport
from services.collector.collected import CollectedCycle
from twin.port.api import WRITING, InProcessTwin
from twin.port.engine import Engine

KEPT_LOOKS = 10
"""Looks that wait for the untouched world's collector, which is seldom more than one behind."""


class CommonWorld:
    """The world without us: the acted one until `part`, an engine of its own from then on."""

    def __init__(self, acted: Engine, writes: MirroredWrites) -> None:
        """Begin beside `acted`, whose writes but the executor's are noted in `writes`."""
        self._acted = acted
        self._writes = writes
        self._own: UntouchedWorld | None = None
        self._looks: dict[int, CollectedCycle] = {}
        self.cluster = _Cluster(self)
        """What the collector reads; `advance` comes first."""

    def part(self) -> UntouchedWorld:
        """The acted world is about to be changed, if it was not before: from here on there are two."""
        if self._own is None:
            self._own = UntouchedWorld(self._acted.clone(), self._writes, settles_at_requests=True)
            self._writes.forget()
        return self._own

    def note_collected(self, look: CollectedCycle) -> None:
        """Keep what the acted world's collector has seen, as long as there is one world."""
        if self._own is None:
            self._looks[look.cycle] = look
            for old in [cycle for cycle in self._looks if cycle <= look.cycle - KEPT_LOOKS]:
                del self._looks[old]
            self._writes.forget()

    def look_of(self, cycle: int) -> CollectedCycle | None:
        """Return what was seen at a cycle before the worlds parted; None for a later one."""
        return self._looks.pop(cycle, None)

    def advance(self, until: float) -> Iterator[None]:
        """Let everything happen up to a cluster time; see `UntouchedWorld.advance`."""
        return self.part().advance(until)


class _Cluster:
    """Reads the world apart; see `services.cluster.InProcessCluster`."""

    def __init__(self, world: CommonWorld) -> None:
        self._world = world

    @property
    def _twin(self) -> InProcessTwin:
        return self._world.part().cluster

    @property
    def now(self) -> float:
        return self._twin.now

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        content_type: str = JSON,
    ) -> tuple[int, bytes]:
        return self._twin.request(method, path, query, body, content_type)

    def list_items(
        self, path: str, query: Mapping[str, str]
    ) -> tuple[int, bytes, Sequence[bytes]] | None:
        return self._twin.list_items(path, query)


class PartingTransport:
    """The executor's way to the acted world: its first write parts the two."""

    def __init__(self, inner: Transport, world: CommonWorld) -> None:
        """Pass requests to `inner`."""
        self._inner = inner
        self._world = world

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request; see `Transport.request`. A dry run changes nothing."""
        if method in WRITING and not (query or {}).get("dryRun"):
            self._world.part()
        return await self._inner.request(method, path, query, body, content_type)

    async def list_items(self, path: str, query: Mapping[str, str]) -> ListedItems | None:
        """Send a GET of a list; see `services.cluster.ItemTransport`."""
        if not isinstance(self._inner, ItemTransport):
            return None
        return await self._inner.list_items(path, query)

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()
