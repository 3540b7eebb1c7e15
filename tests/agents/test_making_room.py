"""Agent C makes room: two pods move so that a larger one that waits has a place, where that is worth it."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import MigrateAction
from schemas.occupancy import Occupancy, Occupant, OccupiedNode, WaitingPod
from schemas.proposal import Proposal, ProposalStatus
from tests.agents.value_world import STEP_SECONDS, ScriptedService, ValueWorld
from tests.builders import GIB, START_SECONDS

STEPS = 61
"""After which pods that ran from the beginning have rested."""
TIGHT: dict[str, Any] = {
    "cpu_allocatable_cores": 8.0,
    "memory_allocatable_bytes": 32 * GIB,
    "cpu_requested_ratio": 0.75,
    "memory_requested_ratio": 0.2,
    "pods": 6,
}
"""A machine with a gap of two cores."""


def occupant(name: str, workload: str = "Deployment", **fields: Any) -> Occupant:
    """Return a pod of a core that has run since the beginning."""
    default: dict[str, Any] = {
        "pod": f"shop/{name}-1",
        "workload": f"shop/{workload}/{name}",
        "cpu_request_cores": 1.0,
        "memory_request_bytes": GIB,
        "started_time_seconds": START_SECONDS,
    }
    return Occupant(**{**default, **fields})


PODS = tuple(occupant(f"web-{number}") for number in range(6))


def waiting(cores: float = 4.0) -> WaitingPod:
    """Return a pod that has waited since the beginning."""
    return WaitingPod(
        pod="shop/report-1", workload="shop/Job/report", cpu_request_cores=cores,
        memory_request_bytes=2 * GIB, created_time_seconds=START_SECONDS,
    )  # fmt: skip


def world(*pods: Occupant, cores: float = 4.0, **fields: Any) -> ValueWorld:
    """Return four machines with a gap of two cores each, of which n-0 holds these pods."""
    nodes = {f"n-{number}": dict(TIGHT) for number in range(4)}
    nodes |= fields.pop("nodes", {})
    listed = OccupiedNode(node="n-0", pods=pods, **fields.pop("listed", {}))
    seen = Occupancy(nodes=(listed,), waiting=(waiting(cores),))
    return ValueWorld("admission", nodes=nodes, occupancy=seen, **fields)


def wishes(played: ValueWorld, steps: int = STEPS + 20) -> list[tuple[float, Proposal]]:
    """Play; return what was proposed, and after how many seconds."""
    found = []
    for step in range(steps):
        proposal = played.play()
        if proposal.status is ProposalStatus.PROPOSED:
            found.append(((step + 1) * STEP_SECONDS, proposal))
    return found


def test_two_pods_move_for_one_that_has_waited_long_enough() -> None:
    """When they have rested: 15 minutes of waiting against two evictions; then the machine is left alone."""
    seconds, proposal = wishes(world(*PODS))[0]

    assert isinstance(proposal.action, MigrateAction)
    assert (proposal.action.target.name, seconds) == ("n-0", 900.0)
    assert proposal.action.pods == ("shop/web-0-1", "shop/web-1-1")
    assert proposal.effect is not None
    terms = proposal.effect.terms
    assert terms["evictions"] == -0.004
    assert terms["overdue"] == pytest.approx(0.8 * 900 / 3600 * 0.02, abs=1e-6)
    assert terms["waiting"] == pytest.approx(terms["overdue"] - 2 * 30 / 3600 * 0.02, abs=1e-6)
    assert "shop/report-1 has waited 900 s for 4 cores in one piece" in proposal.text
    assert "shop/web-0-1 and shop/web-1-1 move to gaps elsewhere" in proposal.text
    assert len(wishes(world(*PODS))) == 1


def test_the_fewest_and_smallest_pods_that_do_are_named() -> None:
    """One of 2.5 cores does alone, and the one of 5 need not go; a Job and what may not move are passed over."""
    pods = (
        occupant("sum", "Job", cpu_request_cores=2.0),
        occupant("kept", cpu_request_cores=2.2, kept_by="PodDisruptionBudget keep"),
        occupant("large", cpu_request_cores=5.0),
        occupant("right", cpu_request_cores=2.5),
        *PODS,
    )
    gap = {"n-3": {**TIGHT, "cpu_requested_ratio": 0.5}}
    (_, proposal), *_ = wishes(world(*pods, nodes=gap))

    assert isinstance(proposal.action, MigrateAction)
    assert proposal.action.pods == ("shop/right-1",)
    assert "when shop/right-1 moves to a gap elsewhere" in proposal.text


def test_waiting_that_costs_less_than_moving_goes_on() -> None:
    """At a tenth of the price of waiting a quarter of an hour is not worth two evictions."""
    cheap = {"waiting_pod_hour": 0.002, "overdue_pod_hour": 0.002}
    played = world(*PODS, value=cheap)

    assert wishes(played) == []
    assert "moving pods costs more than its waiting yet (1)" in played.play().text


@pytest.mark.parametrize(
    ("pods", "fields", "why"),
    [
        ((occupant("sum", "Job", cpu_request_cores=2.0),), {}, "a Job would do its work again"),
        ((PODS[0], PODS[0]), {}, "it would not fit where 4 pods moved"),
        (PODS, {"cores": 6.3}, "it would not fit where 4 pods moved"),
        (PODS, {"listed": {"notices": ("spot",)}}, "it is about to go"),
        (PODS, {"listed": {"kept_by": "karpenter.sh/do-not-disrupt"}}, "karpenter.sh/do-not-disrupt"),
        (
            tuple(occupant(f"web-{n}", cpu_request_cores=2.5) for n in range(2)),
            {},
            "no gap is left for a pod of 2.5 cores",
        ),
        (PODS, {"nodes": {"n-9": {**TIGHT, "power_state": "sleep"}}}, "can be woken"),
        (PODS, {"value": {"machines_rented": True, "rented_seconds": 5_000}}, "is rented for it"),
        (
            (occupant("new", started_time_seconds=START_SECONDS + 600, cpu_request_cores=2.0),),
            {},
            "a pod has run for less than 900 s",
        ),
    ],
)  # fmt: skip
def test_what_is_not_moved(pods: tuple[Occupant, ...], fields: dict[str, Any], why: str) -> None:
    """Each reason stands in the proposal."""
    played = world(*pods, **fields)

    assert wishes(played, STEPS) == []
    assert why in played.play().text


@pytest.mark.parametrize(("before", "now", "moves"), [(30.0, 20.0, True), (20.0, 20.0, False)])
def test_a_service_has_to_bear_the_time_without_its_pod(
    before: float, now: float, moves: bool
) -> None:
    """Four replicas that were seen to bear 30 requests a second give up one at 20, and none at their limit."""
    service = ScriptedService(rate=before, wanted=4)
    played = world(
        occupant("web-0"), occupant("web-1"), services={"web-0": service}, value={"most_wishes": 1}
    )
    played.play(20)
    service.rate = now

    assert bool(wishes(played)) is moves


def test_nothing_is_relieved_while_the_last_relief_settles() -> None:
    """The pod still waits: another machine has its turn two minutes later, never both at once."""
    nodes = (OccupiedNode(node="n-0", pods=PODS[:3]), OccupiedNode(node="n-1", pods=PODS[3:]))
    played = world(value={"budget_ratio": 0.5})
    played.occupancy = Occupancy(nodes=nodes, waiting=(waiting(),))

    assert [
        (seconds, proposal.action.target.name, len(proposal.further))
        for seconds, proposal in wishes(played)
    ] == [(900.0, "n-0", 0), (1_020.0, "n-1", 0)]


def test_the_budget_of_disruptions_holds() -> None:
    """A tenth of four machines is one, so the second waits until ten minutes are over."""
    nodes = (OccupiedNode(node="n-0", pods=PODS[:3]), OccupiedNode(node="n-1", pods=PODS[3:]))
    played = world()
    played.occupancy = Occupancy(nodes=nodes, waiting=(waiting(),))

    assert [seconds for seconds, _ in wishes(played, STEPS + 60)] == [900.0, 1_500.0]
