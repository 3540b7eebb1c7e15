"""A log of built cycles, a hub over it, and the page served as a browser gets it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from bus.clock import SystemClock
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import Message, StoredMessage
from schemas.actions import ActionKind, Agent, Evidence
from schemas.decision import Override, RefereeRule
from schemas.envelope import Event
from schemas.frames import FullState, unfold
from schemas.outcome import AgentRewards, ExecutionPhase, OutcomeReward
from schemas.prediction import PredictionDemand
from schemas.reaction import ReactionItem, ReactionKind
from schemas.reasons import PendingClass, Reason
from schemas.registry import encode
from services.dashboard.service import listen, run
from services.dashboard.settings import DashboardSettings
from tests import builders
from tests.builders import ORIGIN


def one_cycle(cycle: int, previous: FullState | None = None, nodes: int = 24) -> list[Event[Any]]:
    """Return every event of one cycle: safety replicates, admission and efficiency lose."""
    names = [f"node-{number:03d}" for number in range(nodes)]
    risks = {
        name: round((index * 37 + cycle * 11) % 97 / 100, 2) for index, name in enumerate(names)
    }
    hot = max(names, key=lambda name: risks[name])
    rows: dict[str, dict[str, Any]] = {
        name: {"cpu_requested_ratio": round(0.3 + 0.5 * risks[name], 3), "cpu_used_ratio": 0.31}
        for name in names
    }
    if nodes > 10:
        rows[names[3]]["power_state"] = "sleep"
        rows[names[7]]["ready"] = False
    observation = builders.make_observation(
        rows,
        cycle=cycle,
        previous=previous,
        totals={
            "queue_length": 6,
            "sla_violations": 7,
            "completed_tasks": 40 + cycle,
            "pending_by_class": {"insufficient_cpu": 4, "starting": 2},
        },
        signals={
            "node_usage": {"source": "metrics_server", "age_seconds": 22.0},
            "power": {"source": "power_model"},
            "energy_price": {
                "source": "settings",
                "status": "assumed",
                "observed_time_seconds": None,
                "age_seconds": None,
            },
        },
    )
    observed = builders.stamped(observation)
    proposals = [builders.stamped(one) for one in _proposals(cycle, hot, risks[hot])]
    considered = [builders.make_considered(one) for one in proposals]
    decision = builders.stamped(
        builders.make_decision(
            proposals[0].data.action,
            cycle=cycle,
            considered=considered,
            observation_id=observed.id,
            selected=proposals[0].id,
            score=risks[hot],
            rule=RefereeRule.SAFETY_FIRST,
            rationale=f"AgentA:replicate: risk {risks[hot]} >= 0.83; A goes before everything",
            overridden={
                "admission": _override("AgentC:admission:queue", 0.62, 2, risks[hot]),
                "efficiency": _override("AgentB:noop", 0.41, 3, risks[hot]),
            },
            repeat_count=min(cycle, 3),
        )
    )
    return [
        *(builders.stamped(one) for one in builders.make_snapshot(nodes, cycle=cycle)),
        observed,
        builders.stamped(_reaction(cycle)),
        builders.stamped(builders.make_risk(risks, cycle=cycle)),
        builders.stamped(builders.make_prediction(PredictionDemand, risks, cycle=cycle)),
        *proposals,
        decision,
        *_outcomes(cycle, decision),
    ]


def _proposals(cycle: int, hot: str, risk: float) -> list[Any]:
    return [
        builders.make_proposal(
            Agent.SAFETY,
            ActionKind.REPLICATE,
            cycle=cycle,
            target=hot,
            score=risk,
            rule="risk >= 0.83",
            evidence=(_evidence("risk_ratio", risk, ">=", 0.83, subject=hot),),
        ),
        builders.make_proposal(
            Agent.ADMISSION,
            ActionKind.ADMISSION,
            cycle=cycle,
            parameters={"admission": "queue"},
            score=0.62,
            rule="cpu pressure >= 0.6 and queue length >= 4",
            evidence=(
                _evidence("cpu_pressure_ratio", 0.62, ">=", 0.6),
                _evidence("queue_length", 6, ">=", 4),
            ),
        ),
        builders.make_proposal(
            Agent.EFFICIENCY,
            cycle=cycle,
            score=0.41,
            reason=Reason.NOTHING_TO_DO,
            evidence=(_evidence("demand_ratio", 0.59, "<", 0.45, subject="node-001"),),
        ),
    ]


def _evidence(name: str, value: float, comparison: str, threshold: float, **more: Any) -> Evidence:
    holds = value >= threshold if comparison == ">=" else value < threshold
    return Evidence(
        name=name,
        value=value,
        comparison=comparison,
        threshold=threshold,
        holds=holds,
        age_seconds=0.0,
        **more,
    )


def _override(who: str, score: float, priority: int, winner_score: float) -> Override:
    return Override(
        rule=RefereeRule.SAFETY_FIRST,
        by=Agent.SAFETY,
        text=f"{who} lost to AgentA:replicate: agent A goes before everything",
        winner_score=winner_score,
        loser_score=score,
        winner_priority=1,
        loser_priority=priority,
    )


def _reaction(cycle: int) -> Any:
    kinds = (ReactionKind.POD_PENDING, ReactionKind.POD_SCHEDULED, ReactionKind.POD_READY)
    items = tuple(
        ReactionItem(
            kind=kind,
            object=f"openb/task-{cycle:04d}-{number}",
            time_seconds=builders.cycle_time(cycle) - 3 + number,
            lag_seconds=1.5 + number,
            since="created",
            pending_class=PendingClass.INSUFFICIENT_CPU if number == 0 else None,
            text=f"{kind} after {1.5 + number} s",
        )
        for number, kind in enumerate(kinds)
    )
    return builders.make_reaction(cycle=cycle, reactions=items)


def _outcomes(cycle: int, decision: Event[Any]) -> list[Event[Any]]:
    action = decision.data.action
    executions = [
        builders.make_execution(action, cycle=cycle, phase=phase, decision_id=decision.id)
        for phase in (ExecutionPhase.STARTED, ExecutionPhase.FINISHED)
    ]
    verification = builders.make_verification(cycle=cycle, text="3 replicas are ready, 3 wanted")
    told = [*executions, verification, make_reward(cycle)]
    return [builders.stamped(one) for one in told]


def make_reward(cycle: int, **fields: Any) -> OutcomeReward:
    """Return the reward of a cycle, a little off what was predicted."""
    swing = (cycle * 7 % 13) / 13
    observed = AgentRewards(safety=0.4 + swing, efficiency=-0.2, admission=0.3, total=0.52 + swing)
    predicted = AgentRewards(safety=0.7, efficiency=-0.1, admission=0.35, total=0.92)
    default: dict[str, Any] = {
        "cycle": cycle,
        "cluster_time_seconds": builders.cycle_time(cycle + 1),
        "decision_id": "",
        "observed_cycle": cycle + 1,
        "action_kind": ActionKind.REPLICATE,
        "selected_agent": Agent.SAFETY,
        "scale": "seed-rewards/1",
        "alpha": 1.0,
        "beta": 0.6,
        "gamma": 0.8,
        "observed": observed,
        "predicted": predicted,
        "observed_parts": (),
        "predicted_parts": (),
        "mean_total": 0.98,
        "scored": cycle,
    }
    return OutcomeReward(**{**default, **fields})


def cycles(count: int, nodes: int = 24) -> list[Event[Any]]:
    """Return the events of several cycles, observations as keyframes and deltas."""
    events: list[Event[Any]] = []
    full: FullState | None = None
    for cycle in range(1, count + 1):
        made = one_cycle(cycle, full, nodes)
        full = unfold(full, made[3].data)
        events += made
    return events


def message_of(event: Event[Any]) -> Message:
    """Return an event as it is published."""
    encoded = encode(event)
    return Message(encoded.subject, encoded.headers, encoded.data)


def stored_messages(events: list[Event[Any]], step_ns: int = 1_000_000_000) -> list[StoredMessage]:
    """Return events as the log holds them, one every `step_ns`."""
    return [
        StoredMessage(seq, seq * step_ns, one.subject, one.headers, one.data)
        for seq, one in enumerate(map(message_of, events), start=1)
    ]


@dataclass
class FilledLog:
    """A memory log whose events are stored at chosen ages."""

    clock: SystemClock = field(default_factory=SystemClock)
    moment_ns: int = 0
    log: MemoryLog = field(init=False)

    def __post_init__(self) -> None:
        self.log = MemoryLog(wall_ns=lambda: self.moment_ns or self.clock.wall_ns())

    def fill(self, events: list[Event[Any]], seconds_apart: float = 0.15) -> None:
        """Store events; the last one now, the others `seconds_apart` before one another."""
        now = self.clock.wall_ns()
        for number, event in enumerate(events):
            self.moment_ns = now - round((len(events) - 1 - number) * seconds_apart * 1e9)
            message = message_of(event)
            self.log.store([message], [self.log.expected(message.subject)])
        self.moment_ns = 0

    def bus(self) -> MemoryBus:
        """Return a connection of its own."""
        return MemoryBus(self.log, ORIGIN.cluster)


@dataclass
class ServedPage:
    """A dashboard served on a free port by an event loop in a thread of its own."""

    filled: FilledLog
    settings: DashboardSettings
    url: str = ""
    _loop: asyncio.AbstractEventLoop | None = None
    _task: asyncio.Task[None] | None = None
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Begin to serve."""
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()

    def store(self, events: list[Event[Any]]) -> None:
        """Store more events, in the server's loop, as live ones arrive."""
        assert self._loop is not None
        asyncio.run_coroutine_threadsafe(self._store(events), self._loop).result(10)

    def stop(self) -> None:
        """End it and wait until it has ended."""
        if self._loop is not None and self._task is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._task.cancel)
        if self._thread is not None:
            self._thread.join(10)

    async def _store(self, events: list[Event[Any]]) -> None:
        self.filled.fill(events)
        await asyncio.sleep(0)

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(
            run(self.settings, self.filled.bus(), SystemClock(), ORIGIN)
        )
        with suppress(asyncio.CancelledError):
            await self._task


@pytest.fixture
def filled() -> FilledLog:
    """Return an empty log with the machine's clock."""
    return FilledLog()


@contextmanager
def served_over(filled: FilledLog) -> Iterator[ServedPage]:
    """Serve the page over a log, on a free port."""
    probe = listen(DashboardSettings(port=0))
    port = probe.getsockname()[1]
    probe.close()
    page = ServedPage(filled, DashboardSettings(port=port), f"http://127.0.0.1:{port}")
    page.start()
    try:
        yield page
    finally:
        page.stop()


@pytest.fixture
def served(filled: FilledLog) -> Iterator[ServedPage]:
    """Serve the page over a log of a dozen cycles."""
    filled.fill(cycles(12))
    with served_over(filled) as page:
        yield page
