"""A stage on which single cycles are played: the real inference, agents, referee and scoreboard over
scripted observations, and the real executor on a small simulated cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from bus.follow import Handler, Publisher
from foresail.explanation import screen
from projections.cycle_record import CycleRecord
from schemas import subjects
from schemas.actions import ActionKind, AgentName
from schemas.control import Command, Control
from schemas.envelope import Event, NewEvent, stamp
from schemas.identity import Origin
from schemas.model import EventData
from schemas.outcome import Mode
from schemas.proposal import Proposal
from schemas.signals import SignalStatus
from services.agents.service import build as build_agent
from services.agents.settings import AgentSettings
from services.cluster import JSON, ApiResponse, ClusterRefused, ClusterUnavailable
from services.executor.ledger.handler import ExecutorHandler
from services.executor.service import Executor
from services.executor.settings import ExecutorSettings
from services.inference.service import build as build_inference
from services.inference.settings import InferenceSettings
from services.referee.service import build as build_referee
from services.referee.settings import RefereeSettings
from services.scoreboard.service import build as build_scoreboard
from services.scoreboard.settings import ScoreboardSettings
from services.twin_transport import TwinTransport
from tests.builders import (
    Rows,
    as_stored,
    cycle_time,
    make_control,
    make_observation,
    make_proposal,
)
from tests.readable_goldens import COLUMNS, ROWS, check, plain_text
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.workloads import NodeShape

GIB = 2**30
GOLDENS = Path(__file__).parent / "goldens"
ALL = ("safety", "admission", "efficiency")
CALM: Rows = {"node-0": {}, "node-1": {}, "node-2": {}}
IDLE: Rows = {**CALM, "node-0": {"cpu_requested_ratio": 0.05, "memory_requested_ratio": 0.05}}
RISKY: Rows = {**CALM, "node-1": {"unhealthy_pods": 1}}

NEVER = {"observed_time_seconds": None, "age_seconds": None}
SIGNALS: Mapping[str, Mapping[str, Any]] = {
    "node_requests": {"limit_seconds": 30.0},
    "pods": {"limit_seconds": 30.0},
    "node_usage": {"source": "metrics_server", "age_seconds": 15.0, "limit_seconds": 90.0},
    "power": {"source": "power_model:node_usage", "age_seconds": 15.0},
    "energy_price": {"source": "settings", "status": SignalStatus.ASSUMED, **NEVER},
}


class Answering(TwinTransport):
    """The simulated cluster, whose writes can be refused or lost."""

    refuses: ClusterRefused | None = None
    """Every write's answer."""
    silent = False
    """No write is answered."""
    version = ""
    """What it says it is, where that is not the embedded cluster."""
    deaf = False
    """No read is answered either."""

    async def request(
        self,
        method: Any,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request, or fail as told."""
        if self.deaf or (self.silent and method != "GET"):
            raise ClusterUnavailable("no answer within 10 s")
        if self.refuses is not None and method != "GET":
            raise self.refuses
        answer = await super().request(method, path, query, body, content_type)
        if self.version and path == "/version":
            said = json.dumps({"gitVersion": self.version}).encode()
            return ApiResponse(200, said, answer.cluster_time_seconds)
        return answer


class Theatre:
    """Plays cycles; `events` is the log."""

    def __init__(self, mode: Mode = Mode.ACTIVE, cluster: str = "test", **executor: Any) -> None:
        """Raise the curtain on three empty nodes."""
        self.origin = Origin(cluster, "1")
        self.events: list[Event[Any]] = []
        self.cycle = 0
        self._config = ExecutorSettings(mode=mode, **executor)
        agents = [
            build_agent(AgentSettings(profile="baseline-rules"), self.origin, agent)
            for agent in ALL
        ]
        self._handlers: list[Handler[Any]] = [
            build_inference(InferenceSettings(), self.origin),
            *agents,
            build_referee(RefereeSettings(), self.origin),
            build_scoreboard(ScoreboardSettings(), self.origin),
            cast(Handler[Any], ExecutorHandler()),
        ]
        self._states = [handler.initial() for handler in self._handlers]
        self._handled = [0] * len(self._handlers)
        self.engine = Engine(seed=1)
        nodes = [NodeShape(f"node-{n}", 16_000, 64 * GIB, 0, {}) for n in range(3)]
        self.engine.add_nodes(nodes)
        self.transport = Answering(InProcessTwin(self.engine))
        self.restart()

    def restart(self) -> None:
        """Let a new executor process begin."""
        self._executor = Executor(self._config, cast(Publisher, self), self.transport, None)

    # ---- the log

    def tell(self, data: EventData, cycle: int, producer: str, causes: Sequence[str] = ()) -> None:
        """Store one event."""
        at = getattr(data, "cluster_time_seconds", cycle_time(cycle))
        self._store(
            stamp(NewEvent(data, cycle, at, tuple(causes)), self.origin, producer, "0" * 16)
        )

    async def publish(self, new_events: Sequence[NewEvent]) -> tuple[Event[Any], ...]:
        """Store the executor's events, as `bus.follow.Publisher` does."""
        before = len(self.events)
        for new_event in new_events:
            self._store(stamp(new_event, self.origin, "executor", "0" * 16))
        return tuple(self.events[before:])

    def _store(self, event: Event[Any]) -> None:
        if event.id not in {event.id for event in self.events}:
            self.events.append(as_stored(event, seq=len(self.events) + 1))

    def forget(self, event_id: str) -> None:
        """Lose an event that was never stored, and what everybody had applied of the log."""
        self.events = [event for event in self.events if event.id != event_id]
        self._states = [handler.initial() for handler in self._handlers]
        self._handled = [0] * len(self._handlers)

    # ---- the play

    def observe(
        self, nodes: Rows = CALM, expected: Sequence[AgentName] = ALL, **fields: Any
    ) -> None:
        """Open a cycle; `signals` change what is said of one of them."""
        given = dict(fields.pop("signals", {}))
        fields["signals"] = {name: {**SIGNALS[name], **given.get(name, {})} for name in SIGNALS}
        self.cycle += 1
        self.engine.advance(max(self.engine.now, cycle_time(self.cycle)))
        data = make_observation(nodes, cycle=self.cycle, expected_agents=tuple(expected), **fields)
        self.tell(data, self.cycle, "collector")

    def propose(
        self, agent: AgentName, kind: ActionKind, target: str, score: float = 0.9, **parameters: Any
    ) -> None:
        """Let an agent want something that no threshold here would make it want."""
        data: Proposal = make_proposal(
            agent,
            kind,
            cycle=self.cycle,
            target=target,
            score=score,
            parameters=parameters,
            text=f"{agent} wants {kind} on {target}, as the test says",
        )
        self.tell(data, self.cycle, f"agent-{agent}")

    def control(self, command: Command, value: str = "") -> None:
        """Let the operator speak."""
        data: Control = make_control(command, value=value, nonce=str(len(self.events)))
        self.tell(data, 0, "operator")

    def decide(self, *, without: Sequence[str] = (), overdue: bool = False) -> None:
        """Let everybody but `without` say what they owe, until nobody owes anything."""
        said = -1
        while said != len(self.events):
            said = len(self.events)
            for place, handler in enumerate(self._handlers):
                self._run_handler(place)
                if handler.name not in without:
                    self._speak(place, overdue=overdue)

    def _run_handler(self, place: int) -> None:
        handler = self._handlers[place]
        patterns = [
            subjects.pattern(self.origin.cluster, data_class) for data_class in handler.reads
        ]
        for event in self.events[self._handled[place] :]:
            if any(subjects.matches(pattern, event.subject) for pattern in patterns):
                self._states[place] = handler.evolve(self._states[place], event)
        self._handled[place] = len(self.events)

    def _speak(self, place: int, *, overdue: bool) -> None:
        handler = self._handlers[place]
        for new_event in handler.decide(self._states[place], overdue=overdue):
            self._store(stamp(new_event, self.origin, handler.name, "0" * 16))

    async def execute(self) -> None:
        """Let the executor act until it has nothing more to say."""
        said = -1
        while said != len(self.events):
            said = len(self.events)
            self._run_handler(len(self._handlers) - 1)
            await self._executor.act(self._states[-1])

    async def play(self, nodes: Rows = CALM, **fields: Any) -> None:
        """Play a whole cycle in which everybody is there."""
        self.observe(nodes, **fields)
        self.decide()
        await self.execute()

    async def order(
        self, agent: AgentName, kind: ActionKind, target: str, score: float = 0.9, **parameters: Any
    ) -> None:
        """Play a cycle in which one agent alone is asked, and wants this."""
        self.observe(expected=(agent,))
        self.propose(agent, kind, target, score, **parameters)
        self.decide(without=("inference", *(f"agent-{one}" for one in ALL)))
        await self.execute()

    # ---- the cluster

    def deploy(self, name: str, replicas: int, node: str = "node-0", **template: Any) -> None:
        """Create a Deployment whose pods run on one node."""
        labels = {"app": name}
        container = {"name": "c", "image": "a:1", "resources": {"requests": {"cpu": "1"}}}
        spec = {"nodeName": node, "containers": [container]}
        content = {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels, **template}, "spec": spec},
        }
        namespace = template.get("namespace", "default")
        self.engine.store.create(
            "deployments", namespace, {"metadata": {"name": name}, "spec": content}
        )
        self.engine.advance(self.engine.now + 20)

    def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        kind: str = JSON,
        query: Mapping[str, str] | None = None,
    ) -> None:
        """Do something to the cluster beside the executor."""
        status, answer = InProcessTwin(self.engine).request(method, path, query or {}, body, kind)
        assert status < 300, answer

    # ---- the screen

    def screen(self, cycle: int = 1) -> str:
        """Return what `foresail explain` shows of a cycle, on a terminal without colour."""
        record = CycleRecord(cycle)
        for event in self.events:
            if event.cycle == cycle:
                record = record.after(event)
        return plain_text(screen(record))

    def compare(self, name: str, cycle: int = 1) -> None:
        """Compare the screen with its golden, and see that it fits the terminal."""
        text = self.screen(cycle)
        check(GOLDENS / f"{name}.txt", text)
        lines = text.splitlines()
        assert len(lines) <= ROWS
        assert max(map(len, lines)) <= COLUMNS
