"""What still belongs to one action when nothing else is done any more."""

from __future__ import annotations

from typing import Any

import pytest

from lab.calibration.continuation import Continuation, replicas_before
from projections.score.tally import Slo
from schemas.actions import Action, MigrateAction, PowerStateAction, ReplicateAction, Target
from schemas.occupancy import Occupancy, Occupant, OccupiedNode
from schemas.outcome import Operation, OutcomeExecution, Verb
from schemas.view import ObservationView, update_view
from schemas.work import LATENCY_BOUNDS, ServiceCounters, WorkCounters
from tests.builders import START_SECONDS, make_execution, make_observation, stamp_event

SLO = Slo(latency_seconds=0.5, bad_ratio=0.01)
NODE, WEB = Target(kind="node", name="n"), Target(kind="workload", name="shop/Deployment/web")


def seen(
    *,
    pods: int = 0,
    waiting: int = 0,
    failed: float = 0.0,
    served: float = 0.0,
    seconds: float = 0.0,
    occupancy: Occupancy | None = None,
) -> ObservationView:
    """Return a look at one machine and one Service."""
    counters = ServiceCounters(
        service="shop/web",
        served=served,
        failed=failed,
        lost=0.0,
        served_within=(served,) * len(LATENCY_BOUNDS),
        workload=WEB.name,
    )
    totals: dict[str, Any] = {"pending_by_class": {"insufficient_cpu": waiting, "other": 5}}
    observation = make_observation(
        {"n": {"pods": pods}},
        totals=totals,
        work=WorkCounters(services=(counters,)),
        cluster_time_seconds=START_SECONDS + seconds,
        occupancy=occupancy,
    )
    view = update_view(None, stamp_event(observation))
    assert view is not None
    return view


def continuation(kind: str, action: Action, undo: str = "") -> Continuation:
    """Return the rest of an action that was written by one operation."""
    operation = Operation(verb=Verb.PATCH, resource="deployments", name="web", undo=undo, text="")
    started = make_execution(
        action=action, operations=(operation,), cluster_time_seconds=START_SECONDS
    )
    assert isinstance(started, OutcomeExecution)
    return Continuation(kind, started, SLO)


def test_a_machine_is_woken_when_pods_wait_for_capacity() -> None:
    """Once, and not for pods that wait for something else."""
    rest = continuation("power_state:sleep", PowerStateAction(target=NODE, power_state="sleep"))

    assert rest.next_action(seen(), seen()) is None
    assert rest.next_action(seen(), seen(waiting=1)) == PowerStateAction(
        target=NODE, power_state="on"
    )
    assert rest.next_action(seen(), seen(waiting=1)) is None
    assert rest.done == ["power_state:on"]


def test_an_emptied_machine_sleeps_once_it_is_empty() -> None:
    """And is woken as any other that sleeps; one that goes by a notice is left alone."""
    move = MigrateAction(target=NODE)
    rest = continuation("migrate:pack", move)

    assert rest.next_action(seen(), seen(pods=1)) is None
    assert rest.next_action(seen(), seen()) == PowerStateAction(target=NODE, power_state="sleep")
    assert rest.next_action(seen(), seen()) is None
    assert rest.next_action(seen(), seen(waiting=2)) is not None
    assert continuation("migrate:notice", move).next_action(seen(), seen()) is None


def test_replicas_come_back_when_the_service_violates_its_objective_again() -> None:
    """After two looks in a row, and as many as there were."""
    given_back = ReplicateAction(target=WEB, replicas=2)
    rest = continuation("replicate:fewer", given_back, '{"spec":{"replicas":5}}')
    good = [seen(served=100.0 * at) for at in range(3)]
    bad = [seen(served=200.0 + 100.0 * at, failed=10.0 * at) for at in range(4)]

    assert rest.next_action(good[0], good[1]) is None
    assert rest.next_action(bad[0], bad[1]) is None
    assert rest.next_action(bad[1], bad[2]) == ReplicateAction(target=WEB, replicas=5)
    assert rest.next_action(bad[2], bad[3]) is None


def test_a_machine_that_goes_is_emptied_a_minute_after_replicas_were_added() -> None:
    """The one with a notice that holds the workload's pods, once."""
    pod = Occupant(
        pod="shop/web-1",
        workload=WEB.name,
        cpu_request_cores=1.0,
        memory_request_bytes=1,
        started_time_seconds=START_SECONDS,
    )
    nodes = (
        OccupiedNode(node="calm", pods=(pod,)),
        OccupiedNode(node="going", notices=("cloud/spot",), pods=(pod,)),
    )
    occupancy = Occupancy(nodes=nodes)
    rest = continuation("replicate:before_end", ReplicateAction(target=WEB, replicas=3))

    assert rest.next_action(seen(), seen(seconds=45.0, occupancy=occupancy)) is None
    emptied = rest.next_action(seen(), seen(seconds=60.0, occupancy=occupancy))
    assert emptied == MigrateAction(target=Target(kind="node", name="going"))
    assert rest.next_action(seen(), seen(seconds=75.0, occupancy=occupancy)) is None


@pytest.mark.parametrize(
    ("undo", "number"), [('{"spec":{"minReplicas":3}}', 3), ('{"spec":{"taints":[]}}', None)]
)
def test_the_number_before_is_that_of_the_undo(undo: str, number: int | None) -> None:
    """Of a Deployment or its autoscaler."""
    action = ReplicateAction(target=WEB, replicas=2)

    assert replicas_before(continuation("replicate:fewer", action, undo).started) == number
