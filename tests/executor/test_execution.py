"""The executor on the embedded cluster: once, across restarts, verified, taken back, stopped."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from bus.follow import Speaker
from bus.memory_adapter import MemoryBus, MemoryLog
from schemas.actions import Action, ActionKind
from schemas.control import Command, Control
from schemas.envelope import Event
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeExecution,
    OutcomeVerification,
    VerificationStatus,
)
from schemas.reasons import Reason
from schemas.registry import decode
from services.cluster import TwinTransport
from services.executor.cluster import apply, read_facts
from services.executor.ledger import Ledger, evolve
from services.executor.plans import PLANS
from services.executor.plans.planned import Planned
from services.executor.service import Executor
from services.executor.settings import ExecutorSettings
from tests.builders import (
    ORIGIN,
    make_action,
    make_control,
    make_decision,
    make_observation,
    stamped,
)
from twin.engine import Engine
from twin.inprocess import InProcessTwin
from twin.workloads import open_workload

PRESSED = {"pending_by_class": {"insufficient_cpu": 9}}


@dataclass
class Plant:
    """A cluster that stands still, a log, and an executor that can be restarted."""

    mode: Mode = Mode.ACTIVE
    log: MemoryLog = field(default_factory=MemoryLog)
    state: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        """Build three idle nodes."""
        engine = Engine(None, 1)
        engine.add_nodes(open_workload("idle", nodes=3, seed=1).nodes)
        self.twin = InProcessTwin(engine)
        self.transport = TwinTransport(self.twin)
        self.node = json.loads(self.twin.request("GET", "/api/v1/nodes", {}, b"")[1])["items"][0][
            "metadata"
        ]["name"]
        self.control: Control | None = None
        self.folded = 0
        self.restart()

    def restart(self) -> None:
        """Forget everything but the log."""
        speaker = Speaker(MemoryBus(self.log, ORIGIN.cluster), ORIGIN, "executor")
        settings = ExecutorSettings(mode=self.mode)
        self.executor = Executor(settings, speaker, self.transport, self._newest)

    async def _newest(self) -> Control | None:
        return self.control

    def see(self, cycle: int, **totals: Any) -> None:
        """Fold an observation."""
        data = make_observation(3, cycle=cycle, totals=totals)
        self.state = evolve(self.state, stamped(data))

    def decide(self, action: Action, cycle: int) -> None:
        """Fold a decision."""
        self.state = evolve(self.state, stamped(make_decision(action, cycle=cycle, score=0.5)))

    async def act(self) -> None:
        """Act, then fold what was said, until nothing more is said."""
        await self.executor.act(self.state)
        while self.fold():
            await self.executor.act(self.state)

    def fold(self) -> bool:
        """Fold what was said since the last time; False when that was nothing."""
        new = self.said()[self.folded :]
        for event in new:
            self.state = evolve(self.state, event)
        self.folded += len(new)
        return bool(new)

    def said(self) -> list[Event[Any]]:
        """Return every event of the log."""
        return [decode(one.subject, one.headers, one.data) for one in self.log.messages]

    def executions(self) -> list[OutcomeExecution]:
        """Return the executions said."""
        return [one.data for one in self.said() if isinstance(one.data, OutcomeExecution)]

    def shown(self) -> dict[str, Any]:
        """Return the target node as the API shows it."""
        found: dict[str, Any] = json.loads(
            self.twin.request("GET", f"/api/v1/nodes/{self.node}", {}, b"")[1]
        )
        return found

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


async def test_a_decision_is_started_then_finished_and_done() -> None:
    """The plan is stored before the write, and the node shows the end."""
    plant = await asleep()
    phases = [one.phase for one in plant.executions()]
    assert phases == [ExecutionPhase.STARTED, ExecutionPhase.FINISHED]
    assert plant.executions()[-1].succeeded
    assert plant.shown()["spec"]["unschedulable"] is True


async def test_shadow_mode_writes_nothing_and_counts() -> None:
    """The same plan goes out as a dry run; cool-downs count as if it had happened."""
    plant = await asleep(Mode.SHADOW)
    assert plant.executions()[-1].succeeded
    assert not plant.shown()["spec"].get("unschedulable")
    plant.see(2)
    plant.decide(plant.sleep(), 2)
    await plant.act()
    assert plant.executions()[-1].reason is Reason.COOL_DOWN


async def test_applying_twice_is_applying_once() -> None:
    """The second application of the same operation leaves the object's version alone."""
    plant = Plant()
    action = make_action(
        kind=ActionKind.RESOURCE_CAP, target=plant.node, cpu_cap_ratio=0.8, memory_cap_ratio=0.8
    )
    facts = await read_facts(plant.transport, action)
    plan = PLANS[action.kind](action, facts, ExecutorSettings())
    assert isinstance(plan, Planned)
    first = await apply(
        plant.transport, plan.operations[0], dry_run=False, forbidden=nothing_forbidden
    )
    version = plant.shown()["metadata"]["resourceVersion"]
    second = await apply(
        plant.transport, plan.operations[0], dry_run=False, forbidden=nothing_forbidden
    )
    assert (first.status, second.status) == ("applied", "unchanged")
    assert plant.shown()["metadata"]["resourceVersion"] == version


async def test_a_crash_after_the_write_is_completed_once() -> None:
    """`started` without `finished`: the next process finishes it, and writes no second plan."""
    plant = await asleep()
    started = plant.said()[0]
    plant.state = Ledger()
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    plant.log = MemoryLog()
    plant.state = evolve(plant.state, started)
    plant.folded = 0
    plant.restart()
    await plant.act()
    (finished,) = plant.executions()
    assert (finished.phase, finished.succeeded) == (ExecutionPhase.FINISHED, True)


async def test_a_plan_too_old_is_abandoned() -> None:
    """More than two cycles later a started plan is not written any more."""
    plant = Plant()
    other = await asleep()
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    plant.state = evolve(plant.state, other.said()[0])
    plant.see(4)
    await plant.act()
    assert plant.executions()[0].reason is Reason.ABANDONED_AFTER_RESTART
    assert not plant.shown()["spec"].get("unschedulable")


async def test_what_holds_is_verified() -> None:
    """Two cycles later the node still sleeps and nobody waits for it."""
    plant = await asleep()
    plant.see(3)
    await plant.act()
    verdicts = [one.data for one in plant.said() if isinstance(one.data, OutcomeVerification)]
    assert [one.status for one in verdicts] == [VerificationStatus.VERIFIED]


async def test_what_makes_it_worse_is_taken_back_even_after_a_crash() -> None:
    """Pods begin to wait for capacity: the verdict is stored, and the node wakes again."""
    plant = await asleep()
    plant.see(3, **PRESSED)
    await plant.executor.act(plant.state)
    plant.fold()
    plant.restart()
    await plant.act()
    verdicts = [one.data for one in plant.said() if isinstance(one.data, OutcomeVerification)]
    assert verdicts[0].status is VerificationStatus.WORSE
    assert plant.executions()[-1].rollback_of
    assert not plant.shown()["spec"].get("unschedulable")


async def test_the_operator_can_take_an_execution_back() -> None:
    """`undo` of a cycle restores what the execution changed."""
    plant = await asleep()
    plant.state = evolve(plant.state, stamped(make_control(Command.UNDO, value="1"), cycle=0))
    await plant.act()
    assert plant.executions()[-1].rollback_of
    assert not plant.shown()["spec"].get("unschedulable")


async def test_a_kill_between_plan_and_write_stops_the_write() -> None:
    """The log is asked before every write, so a kill that was not folded yet counts."""
    plant = Plant()
    plant.control = make_control(Command.KILL)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    finished = plant.executions()[-1]
    assert finished.results[0].reason is Reason.KILL_SWITCH
    assert not plant.shown()["spec"].get("unschedulable")


async def test_a_plan_of_the_active_mode_is_completed_dry_in_shadow_mode() -> None:
    """A process that comes back in shadow mode writes nothing, whatever an earlier one began."""
    other = await asleep()
    plant = Plant(Mode.SHADOW)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    plant.state = evolve(plant.state, other.said()[0])
    await plant.act()

    (finished,) = plant.executions()
    assert (finished.phase, finished.mode) == (ExecutionPhase.FINISHED, Mode.SHADOW)
    assert not plant.shown()["spec"].get("unschedulable")


async def test_an_undo_waits_for_the_active_mode() -> None:
    """In shadow mode nothing is taken back, not even on record; back in active mode it is."""
    plant = await asleep()
    plant.state = evolve(plant.state, stamped(make_control(Command.UNDO, value="1"), cycle=0))
    dry = plant.state.model_copy(update={"mode": Mode.SHADOW})
    await plant.executor.act(dry)
    assert not plant.fold()
    assert plant.shown()["spec"]["unschedulable"] is True

    await plant.act()
    assert plant.executions()[-1].rollback_of
    assert not plant.shown()["spec"].get("unschedulable")
