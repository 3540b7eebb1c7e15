"""What follows an execution: resumed or abandoned after a restart, verified, taken back; and in which
mode and at whose time decisions are carried out.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from schemas.actions import Action, ActionKind
from schemas.control import Command
from schemas.outcome import ExecutionPhase, Mode, VerificationStatus
from schemas.reasons import Reason
from services.cluster import ClusterRefused, ClusterUnavailable
from services.executor.ledger.handler import evolve
from tests.builders import cycle_time, make_action, make_control, stamp_event
from tests.executor.api_server import ApiServer
from tests.executor.plant import Plant, on

NODE = "/api/v1/nodes/n1"
JOBS = "/apis/batch/v1/namespaces/shop/jobs"
SLEEP = make_action(kind=ActionKind.POWER_STATE, target="n1", power_state="sleep")
PRESSED = {"pending_by_class": {"insufficient_cpu": 9}}
UNREACHABLE = ClusterUnavailable("no answer")


def cluster() -> ApiServer:
    """Return an API server with one empty node."""
    server = ApiServer(now=cycle_time(1))
    server.add(NODE, spec={"taints": []})
    return server


def asleep(server: ApiServer) -> bool:
    """Say whether the node was put to sleep."""
    return bool(server.objects[NODE]["spec"].get("unschedulable"))


async def slept(server: ApiServer, **policy: Any) -> Plant:
    """Return a plant in which the node was put to sleep in cycle 1."""
    plant = on(server, **policy)
    plant.see(1)
    plant.decide(SLEEP, 1)
    await plant.act()
    return plant


async def restarted_plant(server: ApiServer, seen: int, *commands: Command) -> Plant:
    """Return a restarted plant whose predecessor stored the plan of cycle 1 and wrote nothing."""
    server.fail("PATCH", NODE, KeyboardInterrupt())  # type: ignore[arg-type]
    plant = on(server)
    plant.see(1)
    plant.decide(SLEEP, 1)
    with pytest.raises(KeyboardInterrupt):
        await plant.executor.act(plant.state)
    plant.apply_new_events()
    for number, command in enumerate(commands):
        control = make_control(command, nonce=str(number))
        plant.state = evolve(plant.state, stamp_event(control, cycle=0))
    plant.see(seen)
    plant.restart()
    await plant.act()
    return plant


def undo(plant: Plant, cycle: int = 1) -> None:
    """Apply the operator's wish to undo a cycle."""
    control = make_control(Command.UNDO, value=str(cycle), nonce=f"undo-{cycle}")
    plant.state = evolve(plant.state, stamp_event(control, cycle=0))


@pytest.mark.parametrize(
    ("seen", "commands", "written"),
    [
        (3, (), True),
        (4, (), False),
        (2, (Command.KILL,), False),
        (2, (Command.PAUSE,), False),
        (2, (Command.KILL, Command.RESUME), True),
    ],
)
async def test_a_stored_plan_is_written_after_a_restart_or_abandoned(
    seen: int, commands: tuple[Command, ...], *, written: bool
) -> None:
    """Two cycles later it still counts, three later not; and never while the operator says stop."""
    server = cluster()

    plant = await restarted_plant(server, seen, *commands)

    ended = plant.executions()[-1]
    assert (ended.phase, ended.succeeded) == (ExecutionPhase.FINISHED, written)
    assert ended.reason is (None if written else Reason.ABANDONED_AFTER_RESTART)
    assert asleep(server) is written


async def test_every_stored_plan_is_ended() -> None:
    """Not only the newest: two plans without an end are both gone through."""
    server = cluster()
    server.add("/api/v1/nodes/n2", spec={"taints": []})
    plant = await slept(server)
    (one,) = [one for one in plant.executions() if one.phase is ExecutionPhase.STARTED]
    again = on(server)
    again.see(2)
    for cycle in (1, 2):
        begun = one.model_copy(update={"cycle": cycle})
        again.state = evolve(again.state, stamp_event(begun))
    await again.act()

    assert [(end.cycle, end.phase) for end in again.executions()] == [
        (1, ExecutionPhase.FINISHED),
        (2, ExecutionPhase.FINISHED),
    ]


async def test_nothing_is_done_twice_before_own_events_come_back() -> None:
    """The same state again, as long as the log has not shown what was done: nothing is written."""
    server = cluster()
    plant = on(server)
    plant.see(1)
    plant.decide(SLEEP, 1)
    for _ in range(3):
        await plant.executor.act(plant.state)

    assert len(server.writes()) == 1
    assert len(plant.executions()) == 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [(UNREACHABLE, Reason.API_UNREACHABLE), (ClusterRefused(500, "x", "y"), Reason.API_ERROR)],
)
async def test_a_cluster_that_cannot_be_read_is_not_written(
    error: Exception, reason: Reason
) -> None:
    """Without facts there is no plan; the refusal says whether nobody answered or somebody said no."""
    server = cluster()
    server.fail("GET", "/api/v1/nodes", error)

    plant = await slept(server)

    (refused,) = plant.executions()
    assert (refused.phase, refused.reason) == (ExecutionPhase.REFUSED, reason)
    assert server.writes() == []


@pytest.mark.parametrize(
    ("settings", "command", "written"),
    [
        (Mode.SHADOW, "active", True),
        (Mode.ACTIVE, "shadow", False),
        (Mode.ACTIVE, "", True),
        (Mode.SHADOW, "", False),
    ],
)
async def test_the_operators_mode_goes_before_the_settings(
    settings: Mode, command: str, *, written: bool
) -> None:
    """Both ways; without a command the settings stand."""
    server = cluster()
    plant = on(server, settings)
    plant.see(1)
    if command:
        control = make_control(Command.MODE, value=command)
        plant.state = evolve(plant.state, stamp_event(control, cycle=0))
    plant.decide(SLEEP, 1)
    await plant.act()

    assert asleep(server) is written
    assert plant.executions()[-1].mode == (command or settings)


@pytest.mark.parametrize(("seconds", "reason"), [(119.0, Reason.COOL_DOWN), (121.0, None)])
async def test_guard_rails_count_to_the_clusters_own_clock(
    seconds: float, reason: Reason | None
) -> None:
    """Not the last observation's time counts, but the one at which the cluster was read."""
    server = cluster()
    plant = await slept(server)
    server.objects[NODE]["spec"] = {"taints": []}  # somebody opened it again
    server.now += seconds
    plant.see(2)
    plant.decide(SLEEP, 2)
    await plant.act()

    begun = [execution for execution in plant.executions() if execution.cycle == 2]
    assert begun[-1].reason is reason
    if reason is None:
        assert begun[0].cluster_time_seconds == server.now


@pytest.mark.parametrize(("seen", "settled"), [(2, False), (3, True)])
async def test_verification_waits_for_its_cycles(seen: int, *, settled: bool) -> None:
    """Two observations later, and then once, with the time that passed."""
    plant = await slept(cluster())
    plant.see(seen)
    await plant.act()
    plant.see(seen)
    await plant.act()

    verifications = plant.verifications()
    assert len(verifications) == settled
    if settled:
        assert verifications[0].observed_cycle == seen
        assert verifications[0].lag_seconds == cycle_time(seen) - cycle_time(1)


@pytest.mark.parametrize(
    ("pressure", "status"), [(0, VerificationStatus.VERIFIED), (1, VerificationStatus.WORSE)]
)
async def test_worse_is_worse_than_before_not_worse_than_nothing(
    pressure: int, status: VerificationStatus
) -> None:
    """Pods that waited already when it was decided are not held against it."""
    plant = on(cluster())
    plant.see(1, pending_by_class={"insufficient_cpu": 5})
    plant.decide(SLEEP, 1)
    await plant.act()
    plant.see(3, pending_by_class={"insufficient_cpu": 5 + pressure})
    await plant.act()

    assert [verification.status for verification in plant.verifications()] == [status]


async def test_waking_a_node_is_never_worse() -> None:
    """More pods may wait, but not because a node came back."""
    server = cluster()
    server.objects[NODE]["spec"]["unschedulable"] = True
    plant = on(server)
    plant.see(1)
    plant.decide(make_action(kind=ActionKind.POWER_STATE, target="n1", power_state="on"), 1)
    await plant.act()
    plant.see(3, **PRESSED)
    await plant.act()

    assert [verification.status for verification in plant.verifications()] == [
        VerificationStatus.VERIFIED
    ]


async def test_what_does_not_show_is_not_verified() -> None:
    """Somebody woke the node: the end is not there, and that is no reason to take anything back."""
    server = cluster()
    plant = await slept(server)
    server.objects[NODE]["spec"] = {"taints": []}
    plant.see(3)
    await plant.act()

    (verifications,) = plant.verifications()
    assert (verifications.status, verifications.reason) == (
        VerificationStatus.FAILED,
        Reason.NOT_OBSERVED,
    )
    assert len(plant.executions()) == 2


async def test_shadow_mode_can_not_be_verified() -> None:
    """Nothing was written, so nothing is looked for."""
    plant = on(cluster(), Mode.SHADOW)
    plant.see(1)
    plant.decide(SLEEP, 1)
    await plant.act()
    plant.see(3, **PRESSED)
    await plant.act()

    (verifications,) = plant.verifications()
    assert (verifications.status, verifications.reason) == (
        VerificationStatus.UNVERIFIABLE,
        Reason.SHADOW_MODE,
    )


async def test_a_cluster_that_is_away_delays_verification_and_rollback() -> None:
    """Both are tried again with the next observation, and then happen."""
    server = cluster()
    plant = await slept(server)
    server.fail("GET", NODE, UNREACHABLE)
    plant.see(3, **PRESSED)
    await plant.act()
    assert plant.verifications() == []

    plant.see(4, **PRESSED)
    await plant.executor.act(plant.state)
    plant.apply_new_events()
    assert [verification.status for verification in plant.verifications()] == [
        VerificationStatus.WORSE
    ]
    server.fail("GET", NODE, UNREACHABLE)
    await plant.act()
    assert asleep(server)
    await plant.act()
    assert not asleep(server)


async def test_nothing_is_taken_back_while_the_kill_switch_is_on() -> None:
    """Killed means that nothing is written; the rollback waits for the operator."""
    server = cluster()
    plant = await slept(server)
    kill = make_control(Command.KILL)
    plant.state = evolve(plant.state, stamp_event(kill, cycle=0))
    undo(plant)
    await plant.act()
    assert len(plant.executions()) == 2

    plant.state = evolve(plant.state, stamp_event(make_control(Command.RESUME), cycle=0))
    await plant.act()
    assert not asleep(server)


async def test_taking_back_what_got_worse_can_be_switched_off() -> None:
    """The verdict stands, the node sleeps on."""
    server = cluster()
    plant = await slept(server, roll_back=False)
    plant.see(3, **PRESSED)
    await plant.act()

    assert [verification.status for verification in plant.verifications()] == [
        VerificationStatus.WORSE
    ]
    assert asleep(server)


async def test_a_rollback_happens_once_also_over_a_restart() -> None:
    """What was taken back is not taken back again, nor verified."""
    server = cluster()
    plant = await slept(server)
    undo(plant)
    await plant.act()
    writes = len(server.writes())
    server.objects[NODE]["spec"]["unschedulable"] = True  # the operator's own doing
    plant.restart()
    plant.see(3)
    undo(plant)
    await plant.act()

    assert len(server.writes()) == writes == 2
    assert plant.verifications() == []


async def test_what_others_changed_since_is_left_to_them() -> None:
    """A node that shows something else than what was written is not touched by a rollback."""
    server = cluster()
    plant = await slept(server)
    annotations = server.objects[NODE]["metadata"]["annotations"]
    annotations["foresail.dev/power-state"] = "off"
    undo(plant)
    await plant.act()

    refused = plant.executions()[-1]
    assert (refused.phase, refused.reason) == (ExecutionPhase.REFUSED, Reason.TARGET_CHANGED)
    assert annotations["foresail.dev/power-state"] == "off"
    assert len(server.writes()) == 1


async def test_a_rollback_is_tied_to_the_version_it_saw() -> None:
    """A change between the look and the write is not overwritten."""
    server = cluster()
    plant = await slept(server)
    server.objects[NODE]["metadata"]["resourceVersion"] = "7"
    undo(plant)
    await plant.act()

    assert server.writes()[-1].body["metadata"]["resourceVersion"] == "7"


def queue() -> Action:
    """Return the decision to hold the queue."""
    return make_action(kind=ActionKind.ADMISSION, admission="queue")


async def test_a_rollback_goes_backwards() -> None:
    """What was done last is taken back first, and each object gets its own former value."""
    server = ApiServer(now=cycle_time(1))
    for name in ("a", "b"):
        server.add(f"{JOBS}/{name}", spec={"parallelism": 1, "suspend": False})
        server.add(
            f"/api/v1/namespaces/shop/pods/{name}-1",
            metadata={
                "ownerReferences": [
                    {"apiVersion": "batch/v1", "kind": "Job", "name": name, "controller": True}
                ]
            },
            spec={},
            status={"phase": "Pending"},
        )
    plant = on(server)
    plant.see(1)
    plant.decide(queue(), 1)
    await plant.act()
    suspended = [server.objects[f"{JOBS}/{name}"]["spec"]["suspend"] for name in ("a", "b")]
    undo(plant)
    await plant.act()

    names = [write.path.rsplit("/", 1)[-1] for write in server.writes()]
    assert (suspended, names) == ([True, True], ["a", "b", "b", "a"])
    for name in ("a", "b"):
        one = server.objects[f"{JOBS}/{name}"]
        assert one["spec"]["suspend"] is False
        assert json.dumps(one["metadata"].get("annotations", {})) == "{}"
