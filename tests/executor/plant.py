"""A cluster that stands still, and an executor on it that can be restarted."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from bus.follow import Publisher
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.actions import Action, ActionKind
from schemas.control import Control
from schemas.decision import DecisionPart
from schemas.envelope import Event
from schemas.outcome import Mode, OutcomeExecution, OutcomeVerification
from schemas.registry import decode
from schemas.work import WorkCounters
from services.cluster import Transport
from services.executor.ledger import Ledger
from services.executor.ledger.handler import evolve
from services.executor.service import Executor
from services.executor.settings import ExecutorSettings
from services.twin_transport import TwinTransport
from tests.builders import ORIGIN, make_action, make_decision, make_observation, stamp_event
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.workloads import open_workload


@dataclass
class Plant:
    """A cluster that stands still, a log, and an executor that can be restarted."""

    mode: Mode = Mode.ACTIVE
    log: MemoryLog = field(default_factory=MemoryLog)
    state: Ledger = field(default_factory=Ledger)
    policy: dict[str, Any] = field(default_factory=dict)
    """Settings that differ from the defaults."""

    def __post_init__(self) -> None:
        """Build three idle nodes."""
        engine = Engine(None, 1)
        engine.add_nodes(open_workload("idle", nodes=3, seed=1).nodes)
        self.twin = InProcessTwin(engine)
        self.transport: Transport = TwinTransport(self.twin)
        self.node = json.loads(self.twin.request("GET", "/api/v1/nodes", {}, b"")[1])["items"][0][
            "metadata"
        ]["name"]
        self.control: Control | None = None
        self.observed_cycle: int | None = None
        """What the log answers when it is asked for the newest observation."""
        self.applied = 0
        self.restart()

    def restart(self) -> None:
        """Forget everything but the log."""
        publisher = Publisher(MemoryBus(self.log, ORIGIN.cluster), ORIGIN, "executor")
        settings = ExecutorSettings(mode=self.mode, **self.policy)
        self.executor = Executor(
            settings, publisher, self.transport, self._newest, self._newest_cycle
        )

    async def _newest(self) -> Control | None:
        return self.control

    async def _newest_cycle(self) -> int | None:
        return self.observed_cycle

    def see(self, cycle: int, **totals: Any) -> None:
        """Apply an observation."""
        data = make_observation(3, cycle=cycle, totals=totals)
        self.state = evolve(self.state, stamp_event(data))

    def see_work(self, cycle: int, work: WorkCounters) -> None:
        """Apply an observation that counts work."""
        self.state = evolve(self.state, stamp_event(make_observation(3, cycle=cycle, work=work)))

    def decide(self, action: Action, cycle: int) -> None:
        """Apply a decision."""
        self.state = evolve(self.state, stamp_event(make_decision(action, cycle=cycle, score=0.5)))

    def decide_parts(self, cycle: int, *actions: Action) -> None:
        """Apply a decision of several parts."""
        parts = [DecisionPart(action=action, selected=None, score=0.5) for action in actions]
        self.state = evolve(self.state, stamp_event(make_decision(cycle=cycle, parts=tuple(parts))))

    async def act(self) -> None:
        """Act, then apply what was published, until nothing more is said."""
        await self.executor.act(self.state)
        while self.apply_new_events():
            await self.executor.act(self.state)

    def apply_new_events(self) -> bool:
        """Apply the events published since the last call; return whether there were any."""
        new = self.all_events()[self.applied :]
        for event in new:
            self.state = evolve(self.state, event)
        self.applied += len(new)
        return bool(new)

    def all_events(self) -> list[Event[Any]]:
        """Return every event of the log."""
        return [
            decode(message.subject, message.headers, message.data) for message in self.log.messages
        ]

    def executions(self) -> list[OutcomeExecution]:
        """Return the executions said."""
        return [
            event.data for event in self.all_events() if isinstance(event.data, OutcomeExecution)
        ]

    def verifications(self) -> list[OutcomeVerification]:
        """Return the verdicts."""
        return [
            event.data for event in self.all_events() if isinstance(event.data, OutcomeVerification)
        ]

    def shown(self) -> dict[str, Any]:
        """Return the target node as the API shows it."""
        content: dict[str, Any] = json.loads(
            self.twin.request("GET", f"/api/v1/nodes/{self.node}", {}, b"")[1]
        )
        return content

    def sleep(self) -> Action:
        """Return the decision to put the node to sleep."""
        return make_action(kind=ActionKind.POWER_STATE, target=self.node, power_state="sleep")


async def nothing_forbidden() -> None:
    """Answer as guards that let everything pass."""


async def asleep(mode: Mode = Mode.ACTIVE) -> Plant:
    """Return a plant in which a sleep was executed in cycle 1."""
    plant = Plant(mode)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    return plant


def on(server: Transport, mode: Mode = Mode.ACTIVE, **policy: Any) -> Plant:
    """Return a plant whose executor talks to another API server."""
    plant = Plant(mode, policy=policy)
    plant.transport = server
    plant.restart()
    return plant
