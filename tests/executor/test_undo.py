"""`undo` of everything, of what a raise left, and once more after it could not be done."""

from __future__ import annotations

import pytest

from projections.standing_actions import StandingActions
from schemas.actions import ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, Mode
from schemas.reasons import Reason
from services.cluster import ClusterRefused
from services.executor.ledger import Ledger
from services.executor.ledger.handler import KEPT_EXECUTIONS, evolve, what_stands
from tests.builders import (
    cycle_time,
    make_action,
    make_control,
    make_execution,
    make_observation,
    stamp_event,
)
from tests.executor.api_server import ApiServer
from tests.executor.plant import Plant, on
from tests.executor.shop import Shop
from tests.executor.test_afterwards import JOBS, NODE, asleep, queue, slept
from tests.executor.test_afterwards import cluster as one_node
from tests.executor.test_parts import cluster, is_asleep, roomy, sleep
from tests.executor.test_writes import CAP

STARTED, FINISHED, REFUSED = ExecutionPhase
GONE_WRONG = ClusterRefused(500, "InternalError", "etcd is away")


async def undo(plant: Plant, value: str = "all", nonce: str = "u") -> None:
    """Apply the operator's wish, and let the executor answer."""
    control = make_control(Command.UNDO, value=value, nonce=nonce)
    plant.state = evolve(plant.state, stamp_event(control, cycle=0))
    await plant.act()


def standing(plant: Plant) -> list[str]:
    """Return what stands by the log."""
    state = StandingActions()
    for event in plant.all_events():
        state = state.after(event)
    return [one.name for one in state.actions]


async def test_everything_is_taken_back_newest_first() -> None:
    """Two raises of one Deployment and a node asleep: each is undone, and the log says that nothing stands."""
    shop = Shop()
    await shop.replicate(5)
    shop.pass_time()
    await shop.replicate(7)
    assert standing(shop.plant) == ["1", "2"]
    await undo(shop.plant)

    assert (shop.replicas(), shop.owners_number()) == (3, None)
    ended = [one for one in shop.plant.executions() if one.rollback_of and one.phase is FINISHED]
    assert [one.cycle for one in ended] == [2, 1]
    assert standing(shop.plant) == []


async def test_what_gives_back_is_no_part_of_everything() -> None:
    """A node that was woken stays awake, and the sleep that it ended is not looked for."""
    server = cluster()
    plant = roomy(server)
    plant.decide_parts(1, sleep("n1"), sleep("n2"))
    await plant.act()
    plant.see(2)
    wake = make_action(kind=ActionKind.POWER_STATE, target="n1", power_state="on")
    plant.state = plant.state.model_copy(update={"executions": _aged(plant)})
    plant.decide(wake, 2)
    await plant.act()
    assert plant.executions()[-1].succeeded, plant.executions()[-1].text
    assert [one.place for one in what_stands(plant.state.executions)] == [(1, 1)]
    assert standing(plant) == ["1.1"]
    writes = len(server.writes())
    await undo(plant)

    assert not is_asleep(server, "n1")
    assert not is_asleep(server, "n2")
    assert len(server.writes()) == writes + 1


def _aged(plant: Plant) -> tuple[object, ...]:
    """Return the executions as if they had begun long ago, so that no cool-down holds."""
    return tuple(
        one.model_copy(update={"time_seconds": one.time_seconds - 5_000.0})
        for one in plant.state.executions
    )


async def test_what_was_given_back_in_part_is_given_back_whole() -> None:
    """Raised to 7, back to 5: the undo of the raise leaves the owner's 3 and no annotation."""
    shop = Shop()
    await shop.replicate(7)
    shop.pass_time()
    await shop.replicate(5)
    assert standing(shop.plant) == ["1"]
    await undo(shop.plant)

    assert (shop.replicas(), shop.owners_number()) == (3, None)
    assert standing(shop.plant) == []


async def test_a_number_of_somebody_else_is_left_to_them() -> None:
    """The owner's new number stays, with the annotation, and the answer says that nothing was left."""
    shop = Shop()
    await shop.replicate(7)
    shop.patch("/apis/apps/v1/namespaces/shop/deployments/web", {"spec": {"replicas": 6}})
    await undo(shop.plant)

    answer = shop.plant.executions()[-1]
    assert (answer.phase, answer.reason, shop.replicas()) == (REFUSED, Reason.TARGET_CHANGED, 6)


async def test_a_raise_is_not_cut_while_a_later_one_stands() -> None:
    """Undoing the first of two raises alone takes nothing from the second."""
    shop = Shop()
    await shop.replicate(5)
    shop.pass_time()
    await shop.replicate(7)
    await undo(shop.plant, "1")

    assert shop.replicas() == 7
    assert shop.plant.executions()[-1].reason is Reason.TARGET_CHANGED


async def test_what_was_decided_before_is_not_begun_after() -> None:
    """A decision of the cycle that the operator saw is refused; one of the next cycle is executed."""
    plant = roomy(cluster())
    await undo(plant)
    plant.decide(sleep("n1"), 1)
    await plant.act()
    assert plant.executions()[-1].reason is Reason.TAKEN_BACK

    plant.see(2)
    plant.decide(sleep("n1"), 2)
    await plant.act()
    assert plant.executions()[-1].succeeded


async def test_what_had_begun_when_the_operator_spoke_is_taken_back_too() -> None:
    """Its `started` stands behind the command in the log, and the ledger finds it by its cycle."""
    server = cluster()
    plant = roomy(server)
    plant.decide(sleep("n1"), 1)
    before = plant.state
    await plant.act()
    control = make_control(Command.UNDO, value="all")
    plant.state, plant.applied = evolve(before, stamp_event(control, cycle=0)), 0
    plant.apply_new_events()
    plant.restart()
    await plant.act()

    assert not is_asleep(server, "n1")


async def test_a_dry_run_is_nothing_that_stands() -> None:
    """In shadow mode nothing was written, so nothing is asked for."""
    plant = Plant(Mode.SHADOW)
    plant.see(1)
    plant.decide(plant.sleep(), 1)
    await plant.act()
    said = len(plant.executions())
    await undo(plant)

    assert len(plant.executions()) == said
    assert standing(plant) == []


async def test_what_could_not_be_taken_back_is_tried_again_when_asked() -> None:
    """The server fails once: the log says so, the node still stands, and the second wish ends it."""
    server = one_node()
    plant = await slept(server)
    server.fail("PATCH", NODE, GONE_WRONG)
    await undo(plant)
    failed = plant.executions()[-1]
    assert (failed.succeeded, failed.reason, standing(plant)) == (False, Reason.API_ERROR, ["1"])
    assert asleep(server)

    plant.restart()
    await plant.act()
    assert asleep(server)
    await undo(plant, "1", nonce="again")

    again = plant.executions()[-1]
    assert (again.succeeded, again.retry, again.key()) == (True, 1, "rollback-finished-retry-1")
    assert not asleep(server)
    assert standing(plant) == []
    assert len({event.id for event in plant.all_events()}) == len(plant.all_events())


async def test_one_refusal_does_not_keep_the_rest() -> None:
    """Of two held Jobs one cannot be given back; a plan ends with its first refusal, giving back does not."""
    server = ApiServer(now=cycle_time(1))
    for name in ("a", "b"):
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True}
        server.add(f"{JOBS}/{name}", spec={"parallelism": 1, "suspend": False})
        server.add(
            f"/api/v1/namespaces/shop/pods/{name}-1",
            metadata={"ownerReferences": [owner]},
            spec={},
            status={"phase": "Pending"},
        )
    plant = on(server)
    plant.see(1)
    plant.decide(queue(), 1)
    await plant.act()
    server.fail("PATCH", f"{JOBS}/b", GONE_WRONG)
    await undo(plant)

    suspended = [server.objects[f"{JOBS}/{name}"]["spec"]["suspend"] for name in ("a", "b")]
    assert suspended == [False, True]
    assert standing(plant) == ["1"]


@pytest.mark.parametrize("stands", [0, KEPT_EXECUTIONS - 1])
def test_what_stands_outlives_what_does_not(stands: int) -> None:
    """A long run forgets settled executions first, as long as they are of the older half."""
    state = evolve(Ledger(), stamp_event(make_observation(cycle=1)))
    for cycle in range(1, KEPT_EXECUTIONS + 20):
        reversible = (CAP,) if cycle - 1 == stands else ()
        event = make_execution(cycle=cycle, phase=STARTED, operations=reversible)
        state = evolve(state, stamp_event(event))

    assert len(state.executions) == KEPT_EXECUTIONS
    assert [one.cycle for one in what_stands(state.executions)] == [stands + 1]
