"""The whole chain on the embedded cluster in virtual time: collector to referee, and exerciser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from bus.clock import LoopClock
from bus.handler_process import config_of, run_handler
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.virtual_loop import run_virtual
from schemas.agents import agent_names
from schemas.envelope import Event
from schemas.identity import Origin
from schemas.registry import decode
from services.agents.service import build as build_agent
from services.agents.settings import AgentSettings
from services.collector.service import run as run_collector
from services.collector.settings import CollectorSettings
from services.exerciser.cluster import NAMESPACE
from services.exerciser.service import run as run_exerciser
from services.exerciser.settings import ExerciserSettings
from services.inference.service import build as build_inference
from services.inference.settings import InferenceSettings
from services.referee.service import build as build_referee
from services.referee.settings import RefereeSettings
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.workloads import open_workload

ORIGIN = Origin("test", "1")


@dataclass
class World:
    """One cluster, one log, and the services on them."""

    settings: ExerciserSettings = field(default_factory=ExerciserSettings)
    nodes: int = 4
    seconds: float = 60.0
    speed: float = 1.0
    prepare: Callable[[InProcessTwin], Any] = lambda _twin: None
    log: MemoryLog = field(default_factory=MemoryLog)
    left: dict[str, int] = field(default_factory=dict)
    """What the exerciser's namespace holds at the end: objects by resource."""

    def run(self) -> World:
        """Run for `seconds` of wall time, stop the exerciser, then the others."""
        run_virtual(self._main)
        return self

    def events(self, kind: type[Any]) -> list[Event[Any]]:
        """Return the events of one type, in the log's order."""
        decoded = [
            decode(message.subject, message.headers, message.data) for message in self.log.messages
        ]
        return [event for event in decoded if event.type == kind.TYPE]

    async def _main(self) -> None:
        clock = LoopClock(0)
        workload = open_workload("idle", nodes=self.nodes, seed=1)
        twin = InProcessTwin.of(workload, seed=1, speed=self.speed, clock=clock)
        self.prepare(twin)
        transport = TwinTransport(twin)
        collector = CollectorSettings(interval_seconds=5.0, speed=self.speed)
        async with asyncio.TaskGroup() as group:
            others = [
                group.create_task(run_collector(collector, self._bus(), clock, ORIGIN, transport))
            ]
            for handler in _handlers():
                config = config_of(handler.name, {}, "foresail/test")
                work = run_handler(handler, self._bus(), clock, ORIGIN, config)
                others.append(group.create_task(work))
            exerciser = group.create_task(
                run_exerciser(self.settings, self._bus(), clock, ORIGIN, transport)
            )
            await clock.sleep(self.seconds)
            exerciser.cancel()
            await clock.sleep(3.0)
            for task in others:
                task.cancel()
        self.left = {
            resource: _count(twin, f"{api}/namespaces/{NAMESPACE}/{resource}")
            for api, resource in (("/apis/apps/v1", "deployments"), ("/api/v1", "pods"))
        }

    def _bus(self) -> MemoryBus:
        return MemoryBus(self.log, ORIGIN.cluster)


def _count(twin: InProcessTwin, path: str) -> int:
    status, body = twin.request("GET", path, {}, b"")
    return len(json.loads(body)["items"]) if status == 200 else 0


def _handlers() -> list[Any]:
    return [
        build_inference(InferenceSettings(), ORIGIN),
        *(
            build_agent(AgentSettings(profile="baseline-rules"), ORIGIN, agent)
            for agent in agent_names()
        ),
        build_referee(RefereeSettings(), ORIGIN),
    ]
