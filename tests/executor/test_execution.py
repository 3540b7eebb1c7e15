"""The executor on the embedded cluster: once, across restarts, verified, taken back, stopped."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from bus.item_errors import ItemErrors
from bus.memory_adapter import MemoryLog
from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import (
    ExecutionPhase,
    Mode,
    OutcomeVerification,
    VerificationStatus,
)
from schemas.reasons import Reason
from services.executor.execution.attempts import Attempts, SideEffect
from services.executor.ledger import Ledger
from services.executor.ledger.handler import evolve
from services.executor.plans import PLANS
from services.executor.plans.planned import OperationPlan
from services.executor.reading.facts import read_facts
from services.executor.settings import ExecutorSettings
from services.executor.writing.operations import apply_operation
from services.executor.writing.writer import OperationWriter
from tests.builders import (
    make_action,
    make_control,
    stamp_event,
)
from tests.executor.plant import Plant, asleep, nothing_forbidden

PRESSED = {"pending_by_class": {"insufficient_cpu": 9}}


async def test_a_decision_is_started_then_finished_and_done() -> None:
    """The plan is stored before the write, and the node shows the end."""
    plant = await asleep()
    phases = [execution.phase for execution in plant.executions()]
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


async def test_nothing_is_written_when_the_plan_waited_too_long() -> None:
    """A plan that was stored after an outage ends without a write; a cycle that is allowed does not matter."""
    plant = Plant()
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    plant.observed_cycle = 2 + ExecutorSettings().stale_cycles
    await plant.act()
    finished = plant.executions()[-1]
    assert (finished.phase, finished.succeeded) == (ExecutionPhase.FINISHED, False)
    assert finished.reason is Reason.STALE_DECISION
    assert not plant.shown()["spec"].get("unschedulable")

    fresh = Plant()
    fresh.see(1)
    fresh.decide(fresh.sleep(), 1)
    fresh.observed_cycle = 1 + ExecutorSettings().stale_cycles
    await fresh.act()
    assert fresh.executions()[-1].succeeded


async def test_each_decision_is_judged_by_the_state_after_the_one_before() -> None:
    """One call takes one effect: of two pending decisions the second waits until more was read."""
    plant = Plant()
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    plant.decide(make_action(), 2)
    await plant.executor.act(plant.state)
    assert {execution.cycle for execution in plant.executions()} == {1}
    await plant.act()
    assert {execution.cycle for execution in plant.executions()} == {1, 2}


async def test_applying_twice_is_applying_once() -> None:
    """The second application of the same operation leaves the object's version alone."""
    plant = Plant()
    action = make_action(
        kind=ActionKind.RESOURCE_CAP, target=plant.node, cpu_cap_ratio=0.8, memory_cap_ratio=0.8
    )
    facts = await read_facts(plant.transport, action)
    plan = PLANS[action.kind](action, facts, ExecutorSettings(node_limits="node_agent"))
    assert isinstance(plan, OperationPlan)
    first = await apply_operation(
        plant.transport, plan.operations[0], dry_run=False, check_guards=nothing_forbidden
    )
    version = plant.shown()["metadata"]["resourceVersion"]
    second = await apply_operation(
        plant.transport, plan.operations[0], dry_run=False, check_guards=nothing_forbidden
    )
    assert (first.status, second.status) == ("applied", "unchanged")
    assert plant.shown()["metadata"]["resourceVersion"] == version


async def test_a_crash_after_the_write_is_completed_once() -> None:
    """`started` without `finished`: the next process finishes it, and writes no second plan."""
    plant = await asleep()
    started = plant.all_events()[0]
    plant.state = Ledger()
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    plant.log = MemoryLog()
    plant.state = evolve(plant.state, started)
    plant.applied = 0
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
    plant.state = evolve(plant.state, other.all_events()[0])
    plant.see(4)
    await plant.act()
    assert plant.executions()[0].reason is Reason.ABANDONED_AFTER_RESTART
    assert not plant.shown()["spec"].get("unschedulable")


async def test_what_holds_is_verified() -> None:
    """Two cycles later the node still sleeps and nobody waits for it."""
    plant = await asleep()
    plant.see(3)
    await plant.act()
    verdicts = [
        event.data for event in plant.all_events() if isinstance(event.data, OutcomeVerification)
    ]
    assert [verdict.status for verdict in verdicts] == [VerificationStatus.VERIFIED]


async def test_what_makes_it_worse_is_taken_back_even_after_a_crash() -> None:
    """Pods begin to wait for capacity: the verdict is stored, and the node wakes again."""
    plant = await asleep()
    plant.see(3, **PRESSED)
    await plant.executor.act(plant.state)
    plant.apply_new_events()
    plant.restart()
    await plant.act()
    verdicts = [
        event.data for event in plant.all_events() if isinstance(event.data, OutcomeVerification)
    ]
    assert verdicts[0].status is VerificationStatus.WORSE
    assert plant.executions()[-1].rollback_of
    assert not plant.shown()["spec"].get("unschedulable")


async def test_the_operator_can_take_an_execution_back() -> None:
    """`undo` of a cycle restores what the execution changed."""
    plant = await asleep()
    plant.state = evolve(plant.state, stamp_event(make_control(Command.UNDO, value="1"), cycle=0))
    await plant.act()
    assert plant.executions()[-1].rollback_of
    assert not plant.shown()["spec"].get("unschedulable")


async def test_a_kill_between_plan_and_write_stops_the_write() -> None:
    """The log is asked before every write, so a kill that was not applied yet counts."""
    plant = Plant()
    plant.control = make_control(Command.KILL)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    finished = plant.executions()[-1]
    assert finished.results[0].reason is Reason.KILL_SWITCH
    assert [(check.guard, check.passed) for check in finished.guards] == [("kill_switch", False)]
    assert not plant.shown()["spec"].get("unschedulable")


async def test_a_pause_between_plan_and_write_lets_the_plan_end() -> None:
    """A pause keeps what is not begun from beginning; half a plan would be worse than a whole one."""
    plant = Plant()
    plant.control = make_control(Command.PAUSE)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    assert plant.executions()[-1].succeeded
    assert plant.shown()["spec"].get("unschedulable")


async def test_while_paused_what_the_operator_wants_back_is_taken_back() -> None:
    """A pause keeps decisions from being executed, not executions from being undone."""
    plant = await asleep()
    for control in (make_control(Command.PAUSE), make_control(Command.UNDO, value="1")):
        plant.state = evolve(plant.state, stamp_event(control, cycle=0))
    await plant.act()
    assert plant.executions()[-1].succeeded
    assert not plant.shown()["spec"].get("unschedulable")


async def test_a_plan_of_the_active_mode_is_completed_dry_in_shadow_mode() -> None:
    """A process that comes back in shadow mode writes nothing, whatever an earlier one began."""
    other = await asleep()
    plant = Plant(Mode.SHADOW)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    plant.state = evolve(plant.state, other.all_events()[0])
    await plant.act()

    (finished,) = plant.executions()
    assert (finished.phase, finished.mode) == (ExecutionPhase.FINISHED, Mode.SHADOW)
    assert not plant.shown()["spec"].get("unschedulable")


async def test_an_undo_waits_for_the_active_mode() -> None:
    """In shadow mode nothing is taken back, not even on record; back in active mode it is."""
    plant = await asleep()
    plant.state = evolve(plant.state, stamp_event(make_control(Command.UNDO, value="1"), cycle=0))
    dry = plant.state.model_copy(update={"mode": Mode.SHADOW})
    await plant.executor.act(dry)
    assert not plant.apply_new_events()
    assert plant.shown()["spec"]["unschedulable"] is True

    await plant.act()
    assert plant.executions()[-1].rollback_of
    assert not plant.shown()["spec"].get("unschedulable")


async def test_an_effect_that_raises_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was begun is completed in the next cycle, as after a restart."""
    plant = Plant()
    errors = plant.executor._errors = ItemErrors("executor")
    written, calls = OperationWriter.write, itertools.count(1)

    async def poisoned(*arguments: Any, **keywords: Any) -> Any:
        if next(calls) == 1:
            raise AttributeError("poison")
        return await written(*arguments, **keywords)

    monkeypatch.setattr(OperationWriter, "write", poisoned)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    before = [execution.phase for execution in plant.executions()]
    plant.see(2)
    await plant.act()

    assert [ExecutionPhase.STARTED] == before
    assert {"execute effect": 1} == errors.counts
    assert plant.executions()[-1].succeeded
    assert plant.shown()["spec"]["unschedulable"] is True


def test_a_failed_attempt_is_allowed_again_after_growing_pauses() -> None:
    """After 1, 2, 4 and 8 cycles, once each time; the fifth failure is the last."""
    attempts, place = Attempts(), (1, 0)
    tried = []
    for cycle in range(1, 100):
        attempts.allow_failed(cycle)
        for _ in range(2):  # a follower acts more than once in a cycle
            if attempts.begin(SideEffect.EXECUTE, place):
                tried.append(cycle)
                attempts.note_failure(cycle, SideEffect.EXECUTE, place)

    assert [1, 2, 4, 8, 16] == tried
