"""What was added makes way for pods of Services that wait for room, and room is made for them before others."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.actions import MigrateAction, ReplicateAction
from schemas.occupancy import Occupancy, Occupant, OccupiedNode, WaitingPod
from schemas.proposal import Proposal, ProposalStatus
from tests.agents.value_world import STEP_SECONDS, ScriptedService, ValueWorld
from tests.builders import GIB, START_SECONDS

BIG: dict[str, Any] = {"cpu_allocatable_cores": 500.0, "memory_allocatable_bytes": 2**39}


def waits(workload: str) -> dict[str, Any]:
    """Return the row of a pod that no machine has the cores for."""
    return {
        "workload": workload, "phase": "Pending", "pending_class": "insufficient_cpu", "waiting_seconds": 60.0,
    }  # fmt: skip


def crowded(**fields: Any) -> ValueWorld:
    """Return a world in which `web` was raised for a rush that is over, and then `api` came and found no room."""
    played = ValueWorld(
        "safety",
        {"web": ScriptedService(rate=50.0)},
        nodes={"node-0": dict(BIG)},
        obeys=True,
        value=fields,
    )
    played.play(20)
    assert played.services["web"].wanted > 4
    played.services["web"].rate = 30.0
    played.services["api"] = ScriptedService(rate=30.0, wanted=4, ready=0, refused_ratio=1.0)
    played.nodes = {"node-0": {**BIG, "cpu_requested_ratio": 1.0}}
    played.pods = {"shop/api-1": waits("shop/Deployment/api")}
    return played


def proposed(played: ValueWorld, steps: int) -> list[Proposal]:
    """Play; return what was proposed."""
    proposals = [played.play() for _ in range(steps)]
    return [one for one in proposals if one.status is ProposalStatus.PROPOSED]


def test_added_replicas_make_way_for_a_service_that_has_no_room() -> None:
    """Not after a quarter of an hour of quiet, as else, but when its pods wait and its requests fail."""
    first, *_ = proposed(crowded(), 4)

    assert isinstance(first.action, ReplicateAction)
    assert (first.action.target.name, first.action.replicas) == ("shop/Deployment/web", 4)
    assert "shop/Deployment/api waits for room while it violates its objective" in first.text
    assert first.effect is not None
    assert first.effect.terms["slo_services"] > 0.0 < first.effect.terms["waiting"]


@pytest.mark.parametrize("cause", ["a Job waits", "it keeps its objective"])
def test_they_stay_for_what_is_worth_less(cause: str) -> None:
    """A Job, and a Service that lacks a pod without harm, are no reason to give back at once."""
    played = crowded()
    api = played.services["api"]
    if cause == "a Job waits":
        played.pods = {"shop/report-1": waits("shop/Job/report")}
    else:
        api.ready, api.refused_ratio = 3, 0.0

    assert proposed(played, 8) == []


def test_no_one_makes_way_for_pods_that_we_added() -> None:
    """`api` was raised, too, and has its owner's four ready: what waits is ours."""
    services = {name: ScriptedService(rate=50.0) for name in ("web", "api")}
    played = ValueWorld("safety", services, nodes={"node-0": dict(BIG)}, obeys=True)
    played.play(20)
    web, api = played.services["web"], played.services["api"]
    assert min(web.wanted, api.wanted) > 4
    web.rate, api.ready = 30.0, 4
    played.nodes = {"node-0": {**BIG, "cpu_requested_ratio": 1.0}}
    played.pods = {"shop/api-9": waits("shop/Deployment/api")}

    assert proposed(played, 8) == []


def test_a_service_that_needs_them_more_keeps_them() -> None:
    """Its rate is again what its owner's number did not bear: to give back would only move the violation."""
    played = crowded()
    played.services["web"].rate = 50.0

    assert proposed(played, 6) == []


def occupant(name: str) -> Occupant:
    """Return a pod of a core that has run since the beginning."""
    return Occupant(
        pod=f"shop/{name}-1", workload=f"shop/Deployment/{name}", cpu_request_cores=1.0,
        memory_request_bytes=GIB, started_time_seconds=START_SECONDS,
    )  # fmt: skip


def waiting(workload: str) -> WaitingPod:
    """Return a pod of four cores that has waited for a minute when all others have rested."""
    return WaitingPod(
        pod=f"{workload}-1", workload=workload, cpu_request_cores=4.0, memory_request_bytes=GIB,
        created_time_seconds=START_SECONDS + 860.0,
    )  # fmt: skip


def tight(*pods: WaitingPod, ratio: float = 0.75, **services: ScriptedService) -> ValueWorld:
    """Return four machines with a gap of two cores each, on which these pods do not fit."""
    node = {
        "cpu_allocatable_cores": 8.0, "memory_allocatable_bytes": 32 * GIB, "cpu_requested_ratio": ratio,
        "memory_requested_ratio": 0.2, "pods": 6,
    }  # fmt: skip
    listed = OccupiedNode(node="n-0", pods=tuple(occupant(f"db-{number}") for number in range(6)))
    return ValueWorld(
        "admission",
        dict(services),
        nodes={f"n-{number}": dict(node) for number in range(4)},
        occupancy=Occupancy(nodes=(listed,), waiting=pods),
        pods={pod.pod: waits(pod.workload) for pod in pods},
    )


def test_room_for_a_service_that_violates_its_objective_is_made_at_once() -> None:
    """Minutes of violation are worth more than two evictions; a Job's waiting is not yet, after the same time."""
    api = ScriptedService(rate=50.0, wanted=4, ready=3)
    played = tight(waiting("shop/Job/report"), waiting("shop/Deployment/api"), api=api)
    first, *_ = proposed(played, 62)

    assert isinstance(first.action, MigrateAction)
    assert first.text.startswith("shop/Deployment/api-1 has waited")
    assert first.effect is not None
    assert first.effect.terms["slo_services"] > 0.0
    assert played.cycle * STEP_SECONDS <= 62 * STEP_SECONDS

    played = tight(waiting("shop/Job/report"))
    assert proposed(played, 62) == []


def test_no_room_is_made_for_a_job_where_services_need_what_is_free() -> None:
    """Eight cores are free in all: four waiting pods of a Service, and what is spared, leave less than four."""
    job = waiting("shop/Job/report").model_copy(update={"created_time_seconds": START_SECONDS})
    alone = tight(job)
    assert len(proposed(alone, 70)) == 1

    beside = tight(job, api=ScriptedService(rate=1.0, wanted=4, ready=0, bears=1.0))
    beside.pods |= {f"shop/api-{number}": waits("shop/Deployment/api") for number in range(4)}
    beside.services["api"].rate = 0.0
    assert proposed(beside, 70) == []
    assert "pods of Services, or other work that is still to come" in beside.play().text
