"""Inference, three agents and the referee together over the memory bus, on virtual time."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import pytest

from bus.clock import LoopClock
from bus.follow import Handler, Publisher
from bus.handler_process import config_of, run_handler
from bus.memory_adapter import Faults, MemoryBus, MemoryLog
from bus.virtual_loop import run_virtual
from schemas.agents import action_label, agent_names
from schemas.decision import ClosedBy, Decision, RefereeRule
from schemas.envelope import Event, NewEvent
from schemas.frames import FullState, apply_frame
from schemas.observation import Observation
from schemas.proposal import Proposal
from schemas.reasons import Reason
from schemas.registry import decode
from services.agents.service import build as build_agent
from services.agents.settings import AgentSettings
from services.inference.service import build as build_inference
from services.inference.settings import InferenceSettings
from services.referee.service import build as build_referee
from services.referee.settings import RefereeSettings
from tests.builders import ORIGIN, Rows, make_observation

WALL_INTERVAL_SECONDS = 5.0
NAMES = ("inference", "agent-safety", "agent-efficiency", "agent-admission", "referee")

CALM: Rows = {"node-0": {}, "node-1": {}}
IDLE: Rows = {"node-0": {"cpu_requested_ratio": 0.05, "memory_requested_ratio": 0.05}, "node-1": {}}
RISKY: Rows = {"node-0": {}, "node-1": {"unhealthy_pods": 1}}


def handlers() -> dict[str, Handler[Any]]:
    """Return every handler of the chain by process name."""
    made: list[Handler[Any]] = [
        build_inference(InferenceSettings(), ORIGIN),
        *(
            build_agent(AgentSettings(profile="baseline-rules"), ORIGIN, agent)
            for agent in agent_names()
        ),
        build_referee(RefereeSettings(), ORIGIN),
    ]
    return {handler.name: handler for handler in made}


class Stack:
    """Starts and kills processes over one log, and plays the collector."""

    def __init__(self, faults: Faults | None = None) -> None:
        """Begin with an empty log."""
        self.clock = LoopClock(0)
        self.log = MemoryLog(self.clock.wall_ns)
        self.tasks: dict[str, asyncio.Task[None]] = {}
        self._faults = faults
        self._collector = Publisher(self._bus("collector"), ORIGIN, "collector")
        self._previous: FullState | None = None

    def start(self, *names: str) -> None:
        """Start processes."""
        for name in names:
            handler = handlers()[name]
            config = config_of(name, {}, "foresail/test")
            self.tasks[name] = asyncio.create_task(
                run_handler(handler, self._bus(name), self.clock, ORIGIN, config), name=name
            )

    async def kill(self, *names: str) -> None:
        """Cancel processes at once."""
        for name in names:
            task = self.tasks.pop(name)
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def observe(self, cycle: int, nodes: Rows, **totals: int) -> None:
        """Publish an observation, a delta where possible, and let its interval pass."""
        data = make_observation(nodes, cycle=cycle, totals=totals, previous=self._previous)
        self._previous = apply_frame(self._previous, data)
        await self._collector.publish([NewEvent(data, cycle, data.cluster_time_seconds)])
        await self.clock.sleep(WALL_INTERVAL_SECONDS)
        for task in self.tasks.values():
            if task.done():
                task.result()

    async def stop(self) -> None:
        """Kill what still runs."""
        await self.kill(*list(self.tasks))

    def events(self) -> list[Event[Any]]:
        """Return the log, decoded."""
        return [
            decode(
                message.subject,
                message.headers,
                message.data,
                seq=message.seq,
                recorded_ns=message.time_ns,
            )
            for message in self.log.messages
        ]

    def decisions(self) -> dict[int, Decision]:
        """Return decisions by cycle; more than one for a cycle is an error."""
        found: dict[int, Decision] = {}
        for event in self.events():
            if isinstance(event.data, Decision):
                assert event.cycle not in found
                found[event.cycle] = event.data
        return found

    def _bus(self, name: str) -> MemoryBus:
        faults = self._faults
        if faults is not None:
            seed = random.Random(f"{faults.seed} {name}").randrange(2**32)
            faults = Faults(
                seed=seed,
                drop_before_ack=faults.drop_before_ack,
                lose_live=faults.lose_live,
                duplicate_live=faults.duplicate_live,
                delay_live=faults.delay_live,
            )
        return MemoryBus(self.log, ORIGIN.cluster, faults)


def run_cycles(
    cycles: Sequence[tuple[Rows, Mapping[str, int]]], faults: Faults | None = None
) -> Stack:
    """Run the whole chain over some observations."""

    async def main() -> Stack:
        stack = Stack(faults)
        stack.start(*NAMES)
        for cycle, (nodes, totals) in enumerate(cycles, start=1):
            await stack.observe(cycle, nodes, **totals)
        await stack.stop()
        return stack

    return run_virtual(main)


def test_each_agent_wins_when_it_should() -> None:
    """From observations alone A, B and C win, each by its rule, with all considered."""
    stack = run_cycles(
        [(RISKY, {}), (IDLE, {}), (CALM, {"queue_length": 12}), (CALM, {"queue_length": 130})]
    )

    decisions = stack.decisions()
    assert [(action_label(decision.action), decision.rule) for decision in decisions.values()] == [
        ("AgentA:replicate", RefereeRule.SAFETY_FIRST),
        ("AgentB:power_state:sleep", RefereeRule.EFFICIENCY_BY_SCORE),
        ("AgentC:admission:queue", RefereeRule.ADMISSION_PROTECTS),
        ("AgentC:resource_cap", RefereeRule.ADMISSION_PROTECTS),
    ]
    assert {decision.closed_by for decision in decisions.values()} == {ClosedBy.ALL}
    assert {len(candidate.considered) for candidate in decisions.values()} == {3}


def test_every_decision_has_a_complete_causal_chain() -> None:
    """Each cause of each event is in the log before it, down to an observation."""
    stack = run_cycles([(RISKY, {}), (IDLE, {}), (CALM, {})])

    seen: dict[str, Event[Any]] = {}
    for event in stack.events():
        assert all(cause in seen for cause in event.causation_ids)
        if isinstance(event.data, Decision | Proposal):
            assert isinstance(seen[event.causation_ids[0]].data, Observation)
        seen[event.id] = event


def test_a_cycle_takes_no_time_when_everybody_is_there() -> None:
    """With all processes alive the decision comes at once and not at a deadline."""
    stack = run_cycles([(CALM, {})])

    (decided,) = [event for event in stack.events() if isinstance(event.data, Decision)]
    assert decided.recorded_ns == 0


def test_without_inference_the_decision_is_a_noop_that_says_why_and_recovers() -> None:
    """Killing inference gives noop with the reason; when it is back, decisions are back."""

    async def main() -> Stack:
        stack = Stack()
        stack.start(*NAMES)
        await stack.observe(1, RISKY)
        await stack.kill("inference")
        await stack.observe(2, RISKY)
        await stack.observe(3, RISKY)
        stack.start("inference")
        await stack.observe(4, RISKY)
        await stack.stop()
        return stack

    stack = run_virtual(main)
    decisions = stack.decisions()

    assert [action_label(one.action) for one in decisions.values()] == [
        "AgentA:replicate",
        "Referee:noop",
        "Referee:noop",
        "AgentA:replicate",
    ]
    assert [one.reason for one in decisions.values()] == [
        None,
        Reason.PREDICTION_MISSING,
        Reason.PREDICTION_MISSING,
        None,
    ]
    assert "prediction_missing" in decisions[2].rationale
    assert [decision.repeat_count for decision in decisions.values()] == [1, 1, 2, 1]


def test_without_agent_b_the_others_decide_and_it_is_named_missing() -> None:
    """Killing agent B leaves A and C deciding at the deadline; it comes back by itself."""

    async def main() -> Stack:
        stack = Stack()
        stack.start(*NAMES)
        await stack.observe(1, RISKY)
        await stack.kill("agent-efficiency")
        await stack.observe(2, RISKY)
        await stack.observe(3, CALM, queue_length=12)
        stack.start("agent-efficiency")
        await stack.observe(4, IDLE)
        await stack.stop()
        return stack

    decisions = run_virtual(main).decisions()

    assert [
        (action_label(decision.action), decision.closed_by, decision.missing)
        for decision in decisions.values()
    ] == [
        ("AgentA:replicate", ClosedBy.ALL, ()),
        ("AgentA:replicate", ClosedBy.DEADLINE, ("efficiency",)),
        ("AgentC:admission:queue", ClosedBy.DEADLINE, ("efficiency",)),
        ("AgentB:power_state:sleep", ClosedBy.ALL, ()),
    ]


def test_a_referee_that_was_away_supersedes_the_old_and_decides_the_newest() -> None:
    """After an outage each missed cycle has one decision, and only the newest is ruled on."""

    async def main() -> Stack:
        stack = Stack()
        stack.start(*NAMES)
        await stack.observe(1, RISKY)
        await stack.kill("referee")
        for cycle in (2, 3, 4):
            await stack.observe(cycle, RISKY)
        stack.start("referee")
        await stack.clock.sleep(1.0)
        await stack.stop()
        return stack

    decisions = run_virtual(main).decisions()

    assert [(decision.cycle, decision.closed_by) for decision in decisions.values()] == [
        (1, ClosedBy.ALL),
        (2, ClosedBy.SUPERSEDED),
        (3, ClosedBy.SUPERSEDED),
        (4, ClosedBy.RESTART),
    ]
    assert action_label(decisions[4].action) == "AgentA:replicate"


def test_equal_runs_give_equal_logs() -> None:
    """Two runs over the same observations write the same bytes."""
    cycles: list[tuple[Rows, Mapping[str, int]]] = [(RISKY, {}), (IDLE, {}), (CALM, {})]

    first, second = run_cycles(cycles), run_cycles(cycles)

    assert first.log.messages == second.log.messages


@pytest.mark.parametrize("seed", range(5))
def test_a_faulty_bus_changes_nothing_of_what_is_decided(seed: int) -> None:
    """Lost acks and a feed that loses, doubles and delays leave one decision per cycle."""
    cycles: list[tuple[Rows, Mapping[str, int]]] = [
        (RISKY, {}),
        (IDLE, {}),
        (CALM, {"queue_length": 12}),
    ] * 3
    faults = Faults(
        seed=seed, drop_before_ack=0.2, lose_live=0.2, duplicate_live=0.2, delay_live=0.2
    )

    stack = run_cycles(cycles, faults)

    assert sorted(stack.decisions()) == list(range(1, len(cycles) + 1))
    ids = [event.id for event in stack.events()]
    assert len(ids) == len(set(ids))
