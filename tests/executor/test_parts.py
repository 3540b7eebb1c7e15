"""A decision of several parts: each is executed, verified and taken back by itself, in order, and leaves
alone what an earlier one has touched.
"""

from __future__ import annotations

import pytest

from schemas.actions import Action, ActionKind
from schemas.control import Command
from schemas.identity import event_id
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason
from services.executor.ledger import Ledger
from services.executor.ledger.handler import evolve
from services.executor.settings import DisruptionBudget
from tests.builders import ORIGIN, cycle_time, make_action, make_control, stamp_event
from tests.executor.api_server import ApiServer
from tests.executor.plant import Plant, on

WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
STARTED, FINISHED, REFUSED = ExecutionPhase


def sleep(node: str) -> Action:
    """Return the action to put a node to sleep."""
    return make_action(kind=ActionKind.POWER_STATE, target=node, power_state="sleep")


def cluster() -> ApiServer:
    """Return an API server with four nodes; on n3 and n4 a pod of one Deployment runs."""
    server = ApiServer(now=cycle_time(1))
    server.add(WEB, spec={"replicas": 2}, status={"readyReplicas": 2})
    for number in (1, 2, 3, 4):
        server.add(f"/api/v1/nodes/n{number}", spec={"taints": []})
    for number in (3, 4):
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d4b9c8f6d"}
        server.add(
            f"/api/v1/namespaces/shop/pods/web-7d4b9c8f6d-{number}",
            metadata={
                "ownerReferences": [{**owner, "controller": True}],
                "labels": {"pod-template-hash": "7d4b9c8f6d"},
            },
            spec={"nodeName": f"n{number}"},
            status={"phase": "Running"},
        )
    return server


def is_asleep(server: ApiServer, node: str) -> bool:
    """Say whether a node was put to sleep."""
    return bool(server.objects[f"/api/v1/nodes/{node}"]["spec"].get("unschedulable"))


def roomy(server: ApiServer, budget: str = "5") -> Plant:
    """Return a plant that has seen cycle 1, with a budget of so many nodes."""
    plant = on(server, budgets=(DisruptionBudget(nodes=budget),), least_ready_ratio=0.0)
    plant.see(1)
    return plant


def phases(executions: list[OutcomeExecution]) -> list[tuple[int, str]]:
    """Return part and phase of each event."""
    return [(one.part, str(one.phase)) for one in executions]


async def test_parts_are_executed_in_order_each_by_itself() -> None:
    """Started and finished per part; the first part's events are called what they always were."""
    plant = roomy(cluster())
    plant.decide_parts(1, sleep("n1"), sleep("n2"))
    await plant.act()

    events = [event for event in plant.all_events() if isinstance(event.data, OutcomeExecution)]
    assert phases([event.data for event in events]) == [
        (0, "started"),
        (0, "finished"),
        (1, "started"),
        (1, "finished"),
    ]
    keys = ["started", "finished", "started-1", "finished-1"]
    expected = [
        event_id(ORIGIN, "executor", "foresail.outcome.execution.v1", cycle=1, key=key)
        for key in keys
    ]
    assert [event.id for event in events] == expected


@pytest.mark.parametrize(
    ("first", "second", "conflicts"),
    [
        (sleep("n1"), make_action(kind=ActionKind.DVFS, target="n1", clock_scale_ratio=0.5), True),
        (
            make_action(kind=ActionKind.MIGRATE, target="n3"),
            make_action(kind=ActionKind.REPLICATE, target="n4"),
            True,
        ),
        (sleep("n1"), make_action(kind=ActionKind.REPLICATE, target="n4"), False),
    ],
)
async def test_a_later_part_leaves_alone_what_an_earlier_one_touched(
    first: Action, second: Action, *, conflicts: bool
) -> None:
    """The same node, or the same workload from another node."""
    plant = roomy(cluster())
    plant.decide_parts(1, first, second)
    await plant.act()

    last = plant.executions()[-1]
    assert last.part == 1
    assert (last.phase, last.reason) == (
        (REFUSED, Reason.EARLIER_PART) if conflicts else (FINISHED, None)
    )


async def test_what_was_refused_has_touched_nothing() -> None:
    """A part whose earlier one was refused goes on alone."""
    plant = roomy(cluster())
    plant.decide_parts(
        1, sleep("n3"), make_action(kind=ActionKind.DVFS, target="n3", clock_scale_ratio=0.5)
    )
    await plant.act()

    assert [(one.part, one.reason) for one in plant.executions()] == [
        (0, Reason.NODE_NOT_EMPTY),
        (1, None),
        (1, None),
    ]


async def test_the_budget_counts_each_part() -> None:
    """What the first part has used up is not there for the second."""
    server = cluster()
    plant = roomy(server, budget="1")
    plant.decide_parts(1, sleep("n1"), sleep("n2"))
    await plant.act()

    assert plant.executions()[-1].reason is Reason.BUDGET_EXHAUSTED
    assert (is_asleep(server, "n1"), is_asleep(server, "n2")) == (True, False)


@pytest.mark.parametrize("crashes_at", ["n1", "n2"])
async def test_a_crash_in_any_part_loses_and_repeats_nothing(crashes_at: str) -> None:
    """A stored plan is completed, and the parts after it are executed once."""
    server = cluster()
    plant = roomy(server)
    server.fail("PATCH", f"/api/v1/nodes/{crashes_at}", KeyboardInterrupt())  # type: ignore[arg-type]
    plant.decide_parts(1, sleep("n1"), sleep("n2"))
    with pytest.raises(KeyboardInterrupt):
        await plant.act()
    plant.apply_new_events()
    plant.restart()
    await plant.act()

    assert phases(plant.executions()) == [
        (0, "started"),
        (0, "finished"),
        (1, "started"),
        (1, "finished"),
    ]
    assert is_asleep(server, "n1")
    assert is_asleep(server, "n2")


async def test_each_part_is_verified() -> None:
    """One verdict per part, on one observation, under ids of their own."""
    server = cluster()
    plant = roomy(server)
    plant.decide_parts(1, sleep("n1"), sleep("n2"))
    await plant.act()
    server.objects["/api/v1/nodes/n2"]["spec"] = {"taints": []}
    plant.see(3)
    await plant.act()

    verdicts = [(one.part, str(one.status), one.key()) for one in plant.verifications()]
    assert verdicts == [(0, "verified", ""), (1, "failed", "1")]
    assert len({event.id for event in plant.all_events()}) == 6


@pytest.mark.parametrize(
    ("wish", "asleep"), [("1", []), ("1.1", ["n1"]), ("1.0", ["n2"]), ("1.x", ["n1", "n2"])]
)
async def test_an_undo_names_a_cycle_or_one_of_its_parts(wish: str, asleep: list[str]) -> None:
    """Every part of the cycle, or the one that is named; it is done once, also over a restart."""
    server = cluster()
    plant = roomy(server)
    plant.decide_parts(1, sleep("n1"), sleep("n2"))
    await plant.act()
    undo = make_control(Command.UNDO, value=wish)
    plant.state = evolve(plant.state, stamp_event(undo, cycle=0))
    await plant.act()
    writes = len(server.writes())
    plant.restart()
    await plant.act()

    assert [node for node in ("n1", "n2") if is_asleep(server, node)] == asleep
    assert len(server.writes()) == writes
    assert (plant.state.undo, plant.state.undo_parts) == ((), ())


def test_a_ledger_from_before_there_were_parts_is_read() -> None:
    """Its decisions and executions are first parts, and its wishes are of whole cycles."""
    state = evolve(Ledger(), stamp_event(make_control(Command.UNDO, value="7"), cycle=0))
    stored = state.model_dump(mode="json", exclude={"undo_parts"})

    assert Ledger.model_validate(stored) == state
