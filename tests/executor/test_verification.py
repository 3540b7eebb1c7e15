"""What verification says of each kind of action: that it held when it was looked at, that its target is
gone, or that it did the harm that its kind can do.
"""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import Action, ActionKind, ReplicateAction, Target, TargetKind
from schemas.envelope import rfc3339
from schemas.outcome import Mode, OutcomeVerification, VerificationStatus
from schemas.reasons import Reason
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters
from services.executor.verification.harm import HARMS
from services.executor.verification.judging import GRACE_SECONDS
from tests.builders import INTERVAL_SECONDS, cycle_time, make_action
from tests.executor.api_server import ApiServer
from tests.executor.plant import Plant, on

VERIFIED, FAILED, WORSE, GONE, UNVERIFIABLE = VerificationStatus
NODE = "/api/v1/nodes/n1"
WEB = "/apis/apps/v1/namespaces/shop/deployments/web"
PODS = "/api/v1/namespaces/shop/pods"
SLEEP = make_action(kind=ActionKind.POWER_STATE, target="n1", power_state="sleep")
REPLICATE = make_action(kind=ActionKind.REPLICATE, target="n1")
MIGRATE = make_action(kind=ActionKind.MIGRATE, target="n1")
THROTTLE = make_action(kind=ActionKind.THROTTLE, target="n1", cpu_cap_ratio=0.5)
OPEN_UNTIL = 1 + int(GRACE_SECONDS // INTERVAL_SECONDS)


def add_pod(server: ApiServer, name: str, *, cycle: int, node: str = "") -> None:
    """Add a pod of the Deployment, made at a cycle's time; it waits where it has no node."""
    server.add(
        f"{PODS}/{name}",
        uid=name,
        metadata={
            "ownerReferences": [
                {
                    "apiVersion": "apps/v1",
                    "kind": "ReplicaSet",
                    "name": "web-7d4b9c8f6d",
                    "controller": True,
                }
            ],
            "labels": {"pod-template-hash": "7d4b9c8f6d"},
            "creationTimestamp": rfc3339(cycle_time(cycle))[:19] + "Z",
        },
        spec={"nodeName": node} if node else {},
        status={"phase": "Running" if node else "Pending"},
    )


def cluster() -> ApiServer:
    """Return an API server with a node on which the only pod of a Deployment of two runs."""
    server = ApiServer(now=cycle_time(1))
    server.add(NODE, spec={"taints": []})
    server.add(WEB, spec={"replicas": 2}, status={"readyReplicas": 1})
    add_pod(server, "web-7d4b9c8f6d-a", cycle=0, node="n1")
    return server


async def acted(server: ApiServer, action: Action, mode: Mode = Mode.ACTIVE) -> Plant:
    """Return a plant in which an action was executed in cycle 1."""
    plant = on(server, mode)
    plant.see(1)
    plant.decide(action, 1)
    await plant.act()
    assert plant.executions()[-1].succeeded
    return plant


async def see(plant: Plant, *cycles: int) -> list[OutcomeVerification]:
    """Let some observations come; return what was verified by then."""
    for cycle in cycles:
        plant.see(cycle)
        await plant.act()
    return plant.verifications()


@pytest.mark.parametrize(
    ("at_first", "later", "status"),
    [(3, 3, VERIFIED), (3, 2, VERIFIED), (3, 7, VERIFIED), (5, 2, VERIFIED), (2, 2, FAILED)],
)
async def test_a_replica_counts_that_was_wanted_at_an_observation(
    at_first: int, later: int, status: VerificationStatus
) -> None:
    """An autoscaler that wants fewer or more soon after does not make it a failure; never seen is one."""
    server = cluster()
    plant = await acted(server, REPLICATE)
    assert server.objects[WEB]["spec"]["replicas"] == 3
    server.objects[WEB]["spec"]["replicas"] = at_first
    await see(plant, 2)
    server.objects[WEB]["spec"]["replicas"] = later

    assert [one.status for one in await see(plant, 3, 4)] == [status]


async def test_replicas_of_a_workload_count_that_were_wanted_at_an_observation() -> None:
    """Also where they are asked for by a patch, and somebody wants another number later."""
    server = cluster()
    target = Target(kind=TargetKind.WORKLOAD, name="shop/Deployment/web")
    wish = ReplicateAction(agent="safety", target=target, replicas=3)
    plant = await acted(server, wish)
    assert server.objects[WEB]["spec"]["replicas"] == 3
    await see(plant, 2)
    server.objects[WEB]["spec"]["replicas"] = 2

    assert [one.status for one in await see(plant, 3)] == [VERIFIED]


@pytest.mark.parametrize("action", [SLEEP, THROTTLE, REPLICATE])
async def test_a_target_that_vanished_is_gone(action: Action) -> None:
    """Neither failed nor verified, and nothing of it is taken back."""
    server = cluster()
    if action is SLEEP:
        del server.objects[f"{PODS}/web-7d4b9c8f6d-a"]
    plant = await acted(server, action)
    for path in (NODE, WEB):
        del server.objects[path]
    server.add(NODE, uid="another", spec={"taints": []})

    (verified,) = await see(plant, 3)

    assert (verified.status, verified.reason) == (GONE, Reason.TARGET_GONE)
    assert len(plant.executions()) == 2


async def test_a_replica_that_was_seen_before_its_deployment_went_is_verified() -> None:
    """What was asked for was there."""
    server = cluster()
    plant = await acted(server, REPLICATE)
    await see(plant, 2)
    del server.objects[WEB]

    assert [one.status for one in await see(plant, 3)] == [VERIFIED]


@pytest.mark.parametrize("action", [REPLICATE, MIGRATE])
@pytest.mark.parametrize(
    ("made_in", "node", "status"), [(1, "", WORSE), (0, "", VERIFIED), (1, "n2", VERIFIED)]
)
async def test_new_pods_have_time_to_get_a_node(
    action: Action, made_in: int, node: str, status: VerificationStatus
) -> None:
    """A pod made since that waits for a node is harm, but not before its time is over; others are none."""
    server = cluster()
    plant = await acted(server, action)
    add_pod(server, "web-7d4b9c8f6d-b", cycle=made_in, node=node)

    early = await see(plant, 3, OPEN_UNTIL - 1)
    late = await see(plant, OPEN_UNTIL)

    assert [one.status for one in late] == [status]
    assert len(early) == (status is VERIFIED)
    if status is WORSE:
        assert late[0].checks[1].guard == "pods_without_node"
        assert plant.executions()[-1].rollback_of  # the taint, or the replica


@pytest.mark.parametrize(("ready", "status"), [(1, VERIFIED), (2, VERIFIED), (0, WORSE)])
async def test_a_moved_deployment_may_not_lack_more_replicas_than_before(
    ready: int, status: VerificationStatus
) -> None:
    """One of two was missing already when the plan was made."""
    server = cluster()
    plant = await acted(server, MIGRATE)
    server.objects[WEB]["status"]["readyReplicas"] = ready

    (verified,) = await see(plant, OPEN_UNTIL)

    assert verified.status is status
    assert verified.checks[-1].limit == 1


async def test_a_move_is_looked_at_once_for_each_observation() -> None:
    """While pods have time left, other events of a cycle ask the API server nothing."""
    server = cluster()
    plant = await acted(server, MIGRATE)
    add_pod(server, "web-7d4b9c8f6d-b", cycle=1)
    await see(plant, 3)
    asked = len(server.asked)
    await plant.act()

    assert len(server.asked) == asked


def work(asked: float, bad: float = 0.0, **fields: Any) -> WorkCounters:
    """Return counters with one Service, of whose requests some failed and the rest came in time."""
    within = (asked - bad,) * len(LATENCY_BOUNDS)
    service = ServiceCounters(
        service="shop/web", served=asked - bad, failed=bad, lost=0.0, served_within=within
    )
    return WorkCounters(services=(service,), **fields)


async def after_work(action: Action, counters: dict[int, WorkCounters]) -> OutcomeVerification:
    """Return the verification of an action of cycle 2, among observations that count work."""
    server = cluster()
    server.add("/apis/batch/v1/namespaces/shop/jobs/j", spec={"parallelism": 1, "suspend": False})
    server.add(
        f"{PODS}/j-1",
        metadata={
            "ownerReferences": [
                {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "controller": True}
            ]
        },
        spec={},
        status={"phase": "Pending"},
    )
    server.now = cycle_time(2)
    plant = on(server)
    for cycle, counted in counters.items():
        plant.see_work(cycle, counted)
        if cycle == 2:
            plant.decide(action, cycle)
        await plant.act()
    (verified,) = plant.verifications()
    return verified


LIMITS = {
    ActionKind.THROTTLE: THROTTLE,
    ActionKind.DVFS: make_action(kind=ActionKind.DVFS, target="n1", clock_scale_ratio=0.5),
    ActionKind.MEMORY_BALLOON: make_action(
        kind=ActionKind.MEMORY_BALLOON, target="n1", memory_scale_ratio=0.5
    ),
    ActionKind.RESOURCE_CAP: make_action(
        kind=ActionKind.RESOURCE_CAP, target="n1", cpu_cap_ratio=0.5, memory_cap_ratio=0.5
    ),
}


@pytest.mark.parametrize("kind", LIMITS)
@pytest.mark.parametrize(
    ("bad", "status"), [((0, 1, 9), WORSE), ((0, 1, 5), VERIFIED), ((0, 40, 84), VERIFIED)]
)
async def test_a_limit_is_harm_where_a_service_fails_more_of_its_requests(
    kind: ActionKind, bad: tuple[int, int, int], status: VerificationStatus
) -> None:
    """By more than five in a hundred over what it failed before; 100 requests between two looks."""
    first, second, last = bad
    counters = {1: work(100, first), 2: work(200, second), 4: work(300, last)}

    verified = await after_work(LIMITS[kind], counters)

    assert verified.status is status
    assert verified.checks[-1].guard == "requests"


async def test_slow_answers_are_bad_and_few_requests_say_nothing() -> None:
    """Half a second is the objective; of nineteen requests nobody can tell."""
    slow = ServiceCounters(
        service="shop/web",
        served=300.0,
        failed=0.0,
        lost=0.0,
        served_within=tuple(300.0 if bound > 0.5 else 200.0 for bound in LATENCY_BOUNDS),
    )
    within = WorkCounters(services=(slow,))

    worse = await after_work(THROTTLE, {1: work(100), 2: work(200), 4: within})
    few = await after_work(THROTTLE, {1: work(100), 2: work(200), 4: work(219, 19)})

    assert worse.status is WORSE
    assert (few.status, [one.guard for one in few.checks]) == (VERIFIED, ["end_reached"])


@pytest.mark.parametrize(("overdue", "status"), [(8.0, WORSE), (3.0, VERIFIED)])
async def test_a_hold_is_harm_where_more_pods_are_overdue(
    overdue: float, status: VerificationStatus
) -> None:
    """Two were overdue on average before; half as many more is the limit."""
    seconds = INTERVAL_SECONDS
    counters = {
        1: work(0),
        2: work(0, overdue_pod_seconds=2 * seconds),
        4: work(0, overdue_pod_seconds=2 * seconds + overdue * 2 * seconds),
    }
    hold = make_action(kind=ActionKind.ADMISSION, admission="queue")

    verified = await after_work(hold, counters)

    assert verified.status is status
    assert verified.checks[-1].guard == "overdue_waiting"


async def test_nothing_is_read_for_what_a_dry_run_would_have_moved() -> None:
    """In shadow mode nothing was moved, so no pod of it can wait."""
    server = cluster()
    plant = await acted(server, MIGRATE, Mode.SHADOW)
    add_pod(server, "web-7d4b9c8f6d-b", cycle=1)

    assert [one.status for one in await see(plant, 3)] == [UNVERIFIABLE]


def test_harm_is_looked_for_in_every_kind_that_writes() -> None:
    """A new kind of action has to say what harm it can do."""
    assert set(HARMS) == set(ActionKind) - {ActionKind.NOOP}
