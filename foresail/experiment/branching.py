"""Where a world branches: just before the executor's first write of a part of a decision, twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from bus.events import event_of
from bus.port import Bus
from foresail.settings import StackSettings
from lab.calibration.draw import is_sampled, window_of
from schemas import subjects
from schemas.decision import Decision
from schemas.effect import Effect
from schemas.envelope import Event
from schemas.model import EventData
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from services.agents.calibration import kind_of
from services.cluster import JSON, ApiResponse, ItemTransport, Json, ListedItems, Method, Transport
from services.collector.collected import CollectedCycle
from twin.port.api import WRITING
from twin.port.engine import Engine

D = TypeVar("D", bound=EventData)


@dataclass(frozen=True, slots=True)
class BranchPoint:
    """The world just before an action, and what was expected of it."""

    kind: str
    """Of the expectation; see `services.agents.calibration.kind_of`."""
    started: OutcomeExecution
    """With the operations that are about to be written."""
    effect: Effect
    look: CollectedCycle
    """The newest of the collector."""
    with_action: Engine
    without: Engine


class BranchRecorder:
    """Keeps the points at which a run branches; see `foresail.stack.virtual.Branching`."""

    def __init__(self, seed: int, kinds: Collection[str] = ()) -> None:
        """Branch a sample of the actions of these kinds, or of all where none is named."""
        self._seed = seed
        self._kinds = frozenset(kinds)
        self._known: set[tuple[int, int]] = set()
        self._taken: set[tuple[str, int]] = set()
        self._look: CollectedCycle | None = None
        self.began_seconds = 0.0
        """Cluster time of the first look."""
        self.points: list[BranchPoint] = []
        self.executed: Counter[str] = Counter()
        """Actions that were about to be written, by kind."""
        self.settings: StackSettings | None = None
        """Of the run, everything filled in."""

    def note_collected(self, look: CollectedCycle) -> None:
        """Keep what the collector saw last."""
        if self._look is None:
            self.began_seconds = look.snapshot.cluster_time_seconds
        self._look = look

    def executor_transport(
        self, engine: Engine, inner: Transport, bus: Bus, settings: StackSettings
    ) -> Transport:
        """Return the executor's way to the cluster; `bus` reads the run's log."""
        self.settings = settings
        return _BranchingTransport(self, engine, inner, bus, settings.run.cluster)

    async def note_write(self, engine: Engine, bus: Bus, cluster: str) -> None:
        """A write is about to be sent: branch, where it is the first of a part that is sampled."""
        execution = await _newest(bus, cluster, OutcomeExecution)
        decision = await _newest(bus, cluster, Decision)
        if execution is None or decision is None or self._look is None:
            return
        started, place = execution.data, (execution.data.cycle, execution.data.part)
        if started.phase is not ExecutionPhase.STARTED or started.rollback_of:
            return
        if started.mode is not Mode.ACTIVE or place in self._known:
            return
        self._known.add(place)
        effect = decision.data.parts[started.part].effect
        if decision.id != started.decision_id or effect is None:
            return
        kind, since = kind_of(started.action, effect), engine.now - self.began_seconds
        self.executed[kind] += 1
        if self._kinds and kind not in self._kinds:
            return
        if is_sampled(self._seed, f"{place[0]}/{place[1]}", kind, since, self._taken):
            self._taken.add((kind, window_of(since)))
            self.points.append(
                BranchPoint(kind, started, effect, self._look, engine.clone(), engine.clone())
            )


async def _newest(bus: Bus, cluster: str, kind: type[D]) -> Event[D] | None:
    stored = await bus.last(subjects.build(cluster, kind.PATTERN))
    return None if stored is None else event_of(stored)


class _BranchingTransport:
    """The executor's way to the acted world, on which every write is noticed beforehand."""

    def __init__(
        self, recorder: BranchRecorder, engine: Engine, inner: Transport, bus: Bus, cluster: str
    ) -> None:
        self._recorder = recorder
        self._engine = engine
        self._inner = inner
        self._bus = bus
        self._cluster = cluster

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
            await self._recorder.note_write(self._engine, self._bus, self._cluster)
        return await self._inner.request(method, path, query, body, content_type)

    async def list_items(self, path: str, query: Mapping[str, str]) -> ListedItems | None:
        """Send a GET of a list; see `services.cluster.ItemTransport`."""
        if not isinstance(self._inner, ItemTransport):
            return None
        return await self._inner.list_items(path, query)

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()
