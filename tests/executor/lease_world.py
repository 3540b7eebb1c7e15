"""A cluster, a log, and executors that stand for the same Lease, in virtual time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from bus.clock import LoopClock
from bus.events import event_of
from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.decision import Decision
from schemas.envelope import NewEvent
from schemas.observation import Observation
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution
from services.cluster import (
    JSON,
    ApiResponse,
    ClusterRefused,
    ClusterUnavailable,
    Json,
    Method,
    TwinTransport,
)
from services.executor import service
from services.executor.leading import Leadership
from services.executor.lease import Candidate, lease_path, read_record
from services.executor.settings import ExecutorSettings
from tests.builders import ORIGIN, make_decision, make_observation
from tests.executor.plant import Plant

NAMESPACE, LEASE_SECONDS = "kube-system", 15.0
PATH = lease_path(NAMESPACE, "foresail-executor")
FIRST, SECOND = Candidate("ours", "one"), Candidate("ours", "two")
STRANGER = Candidate("theirs", "one")


@dataclass
class Door:
    """A way to the embedded cluster that can be shut, notes writes, and holds one back."""

    twin: TwinTransport
    shut: bool = False
    forbidden: bool = False
    written: list[str] = field(default_factory=list)
    before_read: Any = None
    """Awaited once before a list of nodes is read."""

    after_renewal: Any = None
    """Awaited once when the server has taken a write of the Lease, before its answer is passed on."""

    on_read: Any = None
    """Awaited before everything that is read but the Lease."""

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Pass one request on."""
        await asyncio.sleep(0)
        if self.shut:
            raise ClusterUnavailable("the server is away")
        if self.forbidden and "/leases" in path:
            raise ClusterRefused(403, "Forbidden", "leases are not yours")
        if method == "GET" and "/leases" not in path and self.on_read is not None:
            await self.on_read()
        if path == "/api/v1/nodes" and self.before_read is not None:
            before, self.before_read = self.before_read, None
            await before()
        is_object = method != "GET" and "/leases" not in path and "access" not in path
        if is_object and "dryRun" not in (query or {}):
            self.written.append(f"{method} {path}")
        answer = await self.twin.request(method, path, query, body, content_type)
        if method != "GET" and "/leases" in path and self.after_renewal is not None:
            after, self.after_renewal = self.after_renewal, None
            await after()
        return answer

    async def close(self) -> None:
        """Nothing is held."""


@dataclass
class World:
    """A cluster, a log, and executors that stand for the same Lease."""

    plant: Plant = field(default_factory=Plant)
    log: MemoryLog = field(default_factory=MemoryLog)
    clock: LoopClock = field(default_factory=lambda: LoopClock(1_767_225_600_000_000_000))

    def door(self) -> Door:
        """Return a way to the cluster."""
        return Door(TwinTransport(self.plant.twin))

    def leadership(self, candidate: Candidate, door: Door) -> Leadership:
        """Return a candidate's part in the election."""
        return Leadership(
            door, self.clock, candidate, namespace=NAMESPACE, duration_seconds=LEASE_SECONDS
        )

    def executor(
        self, candidate: Candidate, door: Door, log: MemoryLog | None = None, **options: Any
    ) -> asyncio.Task[None]:
        """Start an executor."""
        given = {"mode": Mode.ACTIVE, "lease": True, "lease_seconds": LEASE_SECONDS, **options}
        settings = ExecutorSettings(**given)
        bus = MemoryBus(log or self.log, ORIGIN.cluster)
        run = service.run(settings, bus, self.clock, ORIGIN, door, candidate=candidate)
        return asyncio.create_task(run)

    def lease(self) -> Any:
        """Return the Lease as the API shows it."""
        status, answer = self.plant.twin.request("GET", PATH, {}, b"")
        return read_record(json.loads(answer)) if status == 200 else None

    async def decide(self, cycle: int, log: MemoryLog | None = None) -> None:
        """Have the node put to sleep, by a decision of this cycle."""
        bus = MemoryBus(log or self.log, ORIGIN.cluster)
        decision = make_decision(self.plant.sleep(), cycle=cycle, score=0.5)
        for name, data in (("collector", make_observation(3, cycle=cycle)), ("referee", decision)):
            await Publisher(bus, ORIGIN, name).publish([_new(data)])

    def said(self, kind: type[Any], log: MemoryLog | None = None) -> list[Any]:
        """Return what the log holds of a kind."""
        events = (event_of(message).data for message in (log or self.log).messages)
        return [data for data in events if isinstance(data, kind)]

    def ends(self, log: MemoryLog | None = None) -> list[OutcomeExecution]:
        """Return how executions ended."""
        found = self.said(OutcomeExecution, log)
        return [one for one in found if one.phase is not ExecutionPhase.STARTED]


def _new(data: Observation | Decision) -> NewEvent:
    return NewEvent(data, data.cycle, data.cluster_time_seconds)


@asynccontextmanager
async def ended(*tasks: asyncio.Task[None]) -> AsyncIterator[None]:
    """End executors when the block is over."""
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
