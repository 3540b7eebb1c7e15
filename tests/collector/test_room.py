"""Where a pod that waits for capacity would nearly fit: which pods and nodes are listed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from schemas.occupancy import Occupancy
from services.collector.cluster import read_every_source
from services.collector.occupancy import occupancy_of
from services.twin_transport import TwinTransport
from tests.builders import START_SECONDS
from tests.collector.scripted_cluster import ScriptedCluster, node, pod

LACKING = "0/2 nodes are available: 2 Insufficient cpu."
WEB = {"kind": "Deployment", "name": "web", "controller": True}
JOB = {"kind": "Job", "name": "sum", "controller": True}


def cores(number: float, memory: str = "1Gi") -> list[dict[str, Any]]:
    """Return a container that requests so many cores."""
    return [{"resources": {"requests": {"cpu": f"{number:g}", "memory": memory}}}]


def waits(name: str, number: float, **changes: Any) -> dict[str, Any]:
    """Return a pod that waits for so many cores."""
    default = {"phase": "Pending", "node": "", "message": LACKING, "containers": cores(number)}
    return pod(name, **{**default, **changes})


def filled(name: str, *sizes: float, owner: dict[str, Any] = WEB) -> list[dict[str, Any]]:
    """Return pods of these sizes on a node."""
    return [
        pod(f"{name}-{number}", node=name, owner=owner, containers=cores(size))
        for number, size in enumerate(sizes)
    ]


def look(pods: list[dict[str, Any]], nodes: int = 2, **fields: Any) -> Occupancy:
    """Return what is seen of nodes of 10 cores."""
    names = [f"n{number + 1}" for number in range(nodes)]
    cluster = ScriptedCluster(
        nodes=[node(name, **fields.get(name, {})) for name in names], pods=pods
    )
    reading = asyncio.run(read_every_source(TwinTransport(cluster), cluster.now))
    occupancy = occupancy_of(reading)
    assert occupancy is not None
    return occupancy


def listed(occupancy: Occupancy) -> dict[str, list[str]]:
    """Return the nodes listed with their pods, those of few pods left out."""
    return {one.node: [pod.pod for pod in one.pods] for one in occupancy.nodes if len(one.pods) > 4}


FULL = (2.0, 2.0, 1.0, 1.0, 1.0)


def test_a_node_that_lacks_four_pods_room_is_listed_with_the_pod_that_waits() -> None:
    """n1 has three cores free and would have nine; n2 has none and would have four."""
    pods = [*filled("n1", *FULL), *filled("n2", *[1.0] * 10), waits("big", 5.5)]
    occupancy = look(pods)

    (waiting,) = occupancy.waiting
    assert (waiting.pod, waiting.cpu_request_cores) == ("shop/big", 5.5)
    assert waiting.created_time_seconds == START_SECONDS
    assert listed(occupancy) == {"n1": [f"shop/n1-{number}" for number in range(5)]}


@pytest.mark.parametrize(
    "pending",
    [
        waits("small", 3.0),
        waits("huge", 9.5),
        waits("picky", 5.5, spec={"nodeSelector": {"disk": "ssd"}}),
        waits("tainted", 5.5, message="0/2 nodes are available: 2 node(s) had untolerated taint."),
        waits("gated", 5.5, reason="SchedulingGated"),
        waits("fat", 5.5, containers=cores(5.5, "33Gi")),
    ],
    ids=["fits", "too large", "asks for nodes", "taint", "gated", "memory"],
)
def test_what_no_move_helps_is_not_listed(pending: dict[str, Any]) -> None:
    """One that fits as it is, or would not fit all the same, or waits for something else."""
    occupancy = look([*filled("n1", *FULL), *filled("n2", *FULL, 1.0, 1.0), pending])

    assert occupancy.waiting == ()
    assert listed(occupancy) == {}


@pytest.mark.parametrize(
    "changes",
    [
        {"unschedulable": True},
        {"ready": False},
        {"taints": [{"key": "gpu", "effect": "NoSchedule"}]},
        {"taints": [{"key": "foresail.dev/risk", "effect": "PreferNoSchedule"}]},
    ],
    ids=["cordoned", "not ready", "closed", "relieved already"],
)
def test_only_open_nodes_are_relieved(changes: dict[str, Any]) -> None:
    """Nor one that bears our taint: it is being relieved."""
    assert look([*filled("n1", *FULL), waits("big", 5.5)], nodes=1, n1=changes).waiting == ()


def test_no_job_is_to_move() -> None:
    """It would do its work again; six nodes are listed at most, and three sizes, the oldest first."""
    pods = [
        waits(f"big-{size}", 5.0 + size / 10, created=START_SECONDS - size) for size in range(5)
    ]
    for number in range(1, 9):
        pods += filled(f"n{number}", *FULL, owner=JOB if number <= 2 else WEB)
    occupancy = look(pods, nodes=8)

    assert [one.pod for one in occupancy.waiting] == ["shop/big-4", "shop/big-3", "shop/big-2"]
    assert sorted(listed(occupancy)) == [f"n{number}" for number in range(3, 9)]


def test_without_a_pod_that_waits_nothing_is_added() -> None:
    """What is published of a cluster in which nothing waits is what it was."""
    occupancy = look([*filled("n1", *FULL), *filled("n2", *FULL)])

    assert "waiting" not in occupancy.model_dump_json()
    assert listed(occupancy) == {}
