"""Switchback: blocks that do not act hold every decision and take back what still stands of the others."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from projections.switchback.schedule import SwitchbackSettings
from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, Mode, Operation, Verb
from schemas.reasons import Reason
from services.executor.guards import Needs, Question, ask_guards
from services.executor.ledger import ClusterSummary, Ledger, PendingDecision
from services.executor.ledger.handler import evolve
from services.executor.plans.planned import OperationPlan
from services.executor.plans.scale_ups import OWNER_REPLICAS, ScaleUp
from services.executor.settings import ExecutorSettings
from tests.builders import cycle_time, make_action, make_control, stamp_event
from tests.executor.api_server import ApiServer
from tests.executor.plant import Plant, on

BLOCK = 100.0
NODE, OTHER_NODE = "/api/v1/nodes/n1", "/api/v1/nodes/n2"
SLEEP = make_action(kind=ActionKind.POWER_STATE, target="n1", power_state="sleep")
FIRST = next(cycle for cycle in count(1) if cycle_time(cycle) % BLOCK == 0)
"""The first cycle of a block."""


def accepted(accept: Callable[[SwitchbackSettings], bool], **fields: Any) -> SwitchbackSettings:
    """Return a schedule of the first seed that is accepted."""
    given = {"block_seconds": BLOCK, "wash_out_seconds": 0} | fields
    tried = (SwitchbackSettings(**given, seed=seed) for seed in count())
    return next(drawn for drawn in tried if accept(drawn))


def schedule(*acts: bool) -> SwitchbackSettings:
    """Return a schedule whose blocks act so, from that of cycle `FIRST` on."""
    first = int(cycle_time(FIRST) // BLOCK)
    return accepted(
        lambda drawn: all(drawn.acts(first + place) is wanted for place, wanted in enumerate(acts)),
        unit="time",
    )


def block_cycle(place: int) -> int:
    """Return the first cycle of the block so many after that of `FIRST`."""
    return next(
        cycle for cycle in count(FIRST) if cycle_time(cycle) >= cycle_time(FIRST) + place * BLOCK
    )


def cluster() -> ApiServer:
    """Return an API server with two empty nodes and a Deployment."""
    server = ApiServer(now=cycle_time(FIRST))
    server.add(NODE, spec={"taints": []})
    server.add(OTHER_NODE, spec={"taints": []})
    return server


def asleep(server: ApiServer, path: str = NODE) -> bool:
    """Say whether a node was put to sleep."""
    return bool(server.objects[path]["spec"].get("unschedulable"))


async def decided(plant: Plant, cycle: int, action: Any = SLEEP) -> None:
    """Let the executor see a cycle and its decision."""
    plant.see(cycle)
    plant.decide(action, cycle)
    await plant.act()


async def test_a_block_that_does_not_act_refuses_with_its_number_and_end() -> None:
    """The reason is the schedule's, the text says which block and until when; nothing is written."""
    server = cluster()
    drawn = schedule(False)
    plant = on(server, switchback=drawn)
    await decided(plant, FIRST)
    (refused,) = plant.executions()
    block = drawn.block_at(cycle_time(FIRST))
    assert (refused.phase, refused.reason) == (ExecutionPhase.REFUSED, Reason.SWITCHBACK)
    assert refused.text.startswith(f"held: switchback block {block} does not act (until ")
    assert server.writes() == []


async def test_a_block_that_acts_executes_and_says_so() -> None:
    """The guard's answer is in the log of what was executed."""
    server = cluster()
    plant = on(server, switchback=schedule(True))
    await decided(plant, FIRST)
    assert asleep(server)
    started = plant.executions()[0]
    assert [check.text for check in started.guards if check.guard == "switchback"] == [
        f"switchback block {int(cycle_time(FIRST) // BLOCK)} acts"
    ]


async def test_doing_nothing_is_not_held() -> None:
    """A noop stays a noop, so that what is held are decisions that would have been executed."""
    plant = on(cluster(), switchback=schedule(False))
    await decided(plant, FIRST, make_action(kind=ActionKind.NOOP))
    assert [execution.reason for execution in plant.executions()] == [Reason.NOOP]


async def test_what_stands_of_a_block_is_taken_back_when_one_begins_that_does_not_act() -> None:
    """Otherwise not acting would look like acting; the log says why, and it happens once."""
    server = cluster()
    plant = on(server, switchback=schedule(True, False))
    await decided(plant, FIRST)
    plant.see(block_cycle(1) - 1)
    await plant.act()
    assert asleep(server)
    plant.see(block_cycle(1))
    await plant.act()
    assert not asleep(server)
    back = [execution for execution in plant.executions() if execution.rollback_of]
    assert [execution.phase for execution in back] == [
        ExecutionPhase.STARTED,
        ExecutionPhase.FINISHED,
    ]
    assert "take back power_state: held: switchback block" in back[0].text
    plant.see(block_cycle(1) + 1)
    await plant.act()
    assert len([execution for execution in plant.executions() if execution.rollback_of]) == 2


async def test_several_writes_to_one_object_are_taken_back_to_where_they_began() -> None:
    """The newest first: each undo leads to the state before its own write alone."""
    server = cluster()
    plant = on(server, switchback=schedule(True, False), cool_down_seconds=0.0)
    for cycle, scale in ((FIRST, 0.8), (FIRST + 1, 0.6), (FIRST + 2, 0.4)):
        clock = make_action(kind=ActionKind.DVFS, target="n1", clock_scale_ratio=scale)
        await decided(plant, cycle, clock)
    assert server.objects[NODE]["metadata"]["annotations"]["foresail.dev/clock-scale"] == "0.4"
    plant.see(block_cycle(1))
    await plant.act()
    annotations = server.objects[NODE]["metadata"].get("annotations") or {}
    assert annotations.get("foresail.dev/clock-scale") is None


async def test_what_gives_back_is_not_undone() -> None:
    """A node that was woken stays awake: undoing that would put it to sleep, with what runs on it."""
    server = cluster()
    server.objects[NODE]["spec"]["unschedulable"] = True
    plant = on(server, switchback=schedule(True, False))
    await decided(
        plant, FIRST, make_action(kind=ActionKind.POWER_STATE, target="n1", power_state="on")
    )
    assert not asleep(server)
    plant.see(block_cycle(1))
    await plant.act()
    assert not asleep(server)
    assert not [execution for execution in plant.executions() if execution.rollback_of]


@pytest.mark.parametrize(("before", "wanted"), [(3, 7), (7, 3)])
async def test_replicas_are_taken_back_but_not_their_giving_back(before: int, wanted: int) -> None:
    """A raise of an acting block ends with it; replicas that were given back are not added again."""
    remembered = ScaleUp(owner=3, ours=7, base=3, time_seconds=0).model_dump_json()
    annotations = {OWNER_REPLICAS: remembered} if before == 7 else {}
    server = cluster()
    web = server.add(
        "/apis/apps/v1/namespaces/shop/deployments/web",
        metadata={"annotations": annotations},
        spec={"replicas": before},
    )
    plant = on(server, switchback=schedule(True, False))
    target = "shop/Deployment/web"
    wish = make_action(kind=ActionKind.REPLICATE, target=target, replicas=wanted)
    await decided(plant, FIRST, wish)
    assert server.objects[web]["spec"]["replicas"] == wanted
    plant.see(block_cycle(1))
    await plant.act()
    assert server.objects[web]["spec"]["replicas"] == 3
    assert server.objects[web]["metadata"]["annotations"] == {}


async def test_a_dry_run_and_a_killed_executor_take_nothing_back() -> None:
    """A dry run wrote nothing; killed means that nothing is written."""
    for mode, command, expected in ((Mode.SHADOW, None, False), (Mode.ACTIVE, Command.KILL, True)):
        server = cluster()
        plant = on(server, mode, switchback=schedule(True, False))
        await decided(plant, FIRST)
        if command is not None:
            kill = make_control(command)
            plant.state = evolve(plant.state, stamp_event(kill, cycle=0))
        plant.see(block_cycle(1))
        await plant.act()
        assert asleep(server) is expected
        assert not [execution for execution in plant.executions() if execution.rollback_of]


def planned_for(*namespaces: str) -> OperationPlan:
    """Return a plan with one write in each namespace; empty: to a node."""
    operations = tuple(
        Operation(
            verb=Verb.PATCH,
            resource="deployments" if namespace else "nodes",
            namespace=namespace,
            name="web",
            text="made for a test",
        )
        for namespace in namespaces
    )
    return OperationPlan(operations=operations, text="")


def asked(drawn: SwitchbackSettings, plan: OperationPlan) -> Question:
    """Return a question about a plan at the first second of the block of cycle `FIRST`."""
    due = PendingDecision(
        cycle=FIRST,
        decision_id="d",
        observation_id="o",
        action=SLEEP,
        score=0.5,
        cluster_time_seconds=cycle_time(FIRST),
    )
    seen = ClusterSummary(
        cycle=FIRST, cluster_time_seconds=cycle_time(FIRST), nodes=100, nodes_available=100
    )
    settings = ExecutorSettings(switchback=drawn)
    return Question(due, Ledger(seen=seen, due=(due,)), settings, seen.cluster_time_seconds, plan)


@pytest.mark.parametrize(
    ("namespaces", "held"),
    [
        (("shop",), False),
        (("batch",), True),
        (("shop", "batch"), True),
        (("",), None),
        (("x",), None),
    ],
)
def test_by_namespace_a_plan_needs_every_namespace_that_it_writes_to(
    namespaces: tuple[str, ...], held: bool | None
) -> None:
    """Nodes and namespaces that are not named go by the cluster's own schedule."""
    first = int(cycle_time(FIRST) // BLOCK)
    for cluster_acts in (True, False):
        drawn = accepted(
            lambda drawn, wanted=cluster_acts: (
                [drawn.acts(first, unit) for unit in drawn.units] == [wanted, True, False]
            ),
            unit="namespace",
            namespaces=("shop", "batch"),
        )
        question = asked(drawn, planned_for(*namespaces))
        assert "switchback" not in [check.guard for check in ask_guards(Needs.LOG, question)]
        (answer,) = (
            check
            for check in ask_guards(Needs.PLAN, question)
            if check.guard == "switchback_namespaces"
        )
        assert answer.passed is (cluster_acts if held is None else not held)
        if held:
            assert "does not act on namespace batch" in answer.text


def test_switched_off_nothing_of_it_is_announced() -> None:
    """Recordings of a run without a switchback are what they were before there was one."""
    assert "switchback" not in ExecutorSettings().announcement()
    announced = ExecutorSettings(switchback=schedule(True)).announcement()["switchback"]
    assert announced["block_seconds"] == BLOCK
