"""What tripped breakers hold, what they let through, and what they take back."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import ActionKind
from schemas.breaker import BreakerCause, BreakerState
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.reasons import Reason
from services.executor.ledger import Ledger
from services.executor.ledger.handler import evolve
from tests.builders import cycle_time, make_action, stamp_event
from tests.executor.api_server import ApiServer
from tests.executor.plant import Plant, on
from tests.score_events import make_breaker, make_breaker_change

NODES = ("/api/v1/nodes/n1", "/api/v1/nodes/n2")
KIND = "power_state"
FREE: dict[str, Any] = {"cool_down_seconds": 0.0, "budgets": (), "least_ready_ratio": 0.0}
"""Settings under which no other guard rail refuses."""


def cluster() -> ApiServer:
    """Return an API server with two empty nodes."""
    server = ApiServer(now=cycle_time(1))
    for path in NODES:
        server.add(path, spec={"taints": []})
    return server


def asleep(server: ApiServer) -> list[bool]:
    """Say which nodes sleep."""
    return [bool(server.objects[path]["spec"].get("unschedulable")) for path in NODES]


def switch(target: str = "n1", state: str = "sleep") -> Any:
    """Return a wish for a node's power state."""
    return make_action(kind=ActionKind.POWER_STATE, target=target, power_state=state)


def tell(plant: Plant, cycle: int, unit: str = KIND, **fields: Any) -> None:
    """Let the executor read that a breaker has changed."""
    change = make_breaker_change(make_breaker(unit, **fields), cycle=cycle)
    plant.state = evolve(plant.state, stamp_event(change))


async def decided(plant: Plant, cycle: int, action: Any) -> OutcomeExecution:
    """Let the executor see a cycle and its decision; return the newest event of it."""
    plant.see(cycle)
    plant.decide(action, cycle)
    await plant.act()
    return [one for one in plant.executions() if one.cycle == cycle and not one.rollback_of][-1]


@pytest.mark.parametrize("unit", [KIND, "all"])
async def test_what_a_breaker_holds_is_refused_with_its_reason(unit: str) -> None:
    """Nothing is written; the text says why, until when, and how to end it."""
    server = cluster()
    plant = on(server)
    tell(plant, 1, unit)
    refused = await decided(plant, 1, switch())
    assert (refused.phase, refused.reason) == (ExecutionPhase.REFUSED, Reason.BREAKER)
    assert refused.text.endswith("until 2026-01-01 00:30:10 cluster time or `foresail rearm`")
    assert server.writes() == []


async def test_other_kinds_go_on() -> None:
    """One kind's breaker says nothing of others, and its check stands in no other log."""
    server = cluster()
    plant = on(server)
    tell(plant, 1, "replicate")
    done = await decided(plant, 1, switch())
    assert done.phase is ExecutionPhase.FINISHED
    assert not [
        check for one in plant.executions() for check in one.guards if check.guard == "breaker"
    ]


async def test_what_gives_back_is_never_held() -> None:
    """A node can be woken while its kind's breaker has tripped."""
    server = cluster()
    server.objects[NODES[0]]["spec"]["unschedulable"] = True
    plant = on(server)
    tell(plant, 1)
    assert (await decided(plant, 1, switch(state="on"))).phase is ExecutionPhase.FINISHED
    assert asleep(server) == [False, False]


async def test_on_probation_one_execution_is_tried_at_a_time() -> None:
    """The second waits until the spacing has passed since the first."""
    server = cluster()
    plant = on(server, **FREE)
    tell(plant, 1, state=BreakerState.PROBATION, spacing_seconds=100.0)
    assert (await decided(plant, 1, switch())).phase is ExecutionPhase.FINISHED
    server.now = cycle_time(2)
    refused = await decided(plant, 2, switch("n2"))
    assert (refused.reason, asleep(server)) == (Reason.BREAKER, [True, False])
    [check] = [one for one in refused.guards if not one.passed]
    assert (check.guard, check.limit, check.unit) == ("breaker", 100.0, "seconds")
    assert check.measured == cycle_time(2) - cycle_time(1)
    later = next(cycle for cycle in range(2, 99) if cycle_time(cycle) >= cycle_time(1) + 100.0)
    server.now = cycle_time(later)
    assert (await decided(plant, later, switch("n2"))).phase is ExecutionPhase.FINISHED


@pytest.mark.parametrize(
    ("cause", "roll_back", "left"),
    [
        (BreakerCause.HARM, True, [False, False]),
        (BreakerCause.HARM, False, [True, True]),
        (BreakerCause.CHURN, True, [True, True]),
    ],
)
async def test_what_stands_is_taken_back_after_harm(
    cause: BreakerCause, roll_back: bool, left: list[bool]
) -> None:
    """What was done before goes on doing harm; refusals and churn say nothing against it."""
    server = cluster()
    plant = on(server, **FREE, roll_back=roll_back)
    for cycle, name in ((1, "n1"), (2, "n2")):
        await decided(plant, cycle, switch(name))
    assert asleep(server) == [True, True]
    tell(plant, 3, "all", cause=cause)
    plant.see(3)
    await plant.act()
    assert asleep(server) == left


def test_the_ledger_keeps_what_stands_and_nothing_else() -> None:
    """A checkpoint of a run in which nothing tripped is what it was before there were breakers."""
    assert "breakers" not in Ledger().model_dump(mode="json")
    told = evolve(Ledger(), stamp_event(make_breaker_change()))
    assert [one.unit for one in Ledger.model_validate_json(told.model_dump_json()).breakers] == [
        "replicate"
    ]
