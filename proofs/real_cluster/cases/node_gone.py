"""A node that goes while it is drained: what is left of the plan ends, and nothing else is touched."""

from __future__ import annotations

import asyncio
from typing import Any

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.population import DEPLOYMENTS, SHOP, WRITABLE, deployment
from proofs.real_programs.requests import until
from schemas.actions import ActionKind
from schemas.outcome import ExecutionPhase
from schemas.reasons import Reason

AMOUNTS = {"cpu": "4", "memory": "8Gi", "pods": "110"}


async def run(scene: CaseEnvironment) -> None:
    """Delete the node and its pods after the first eviction."""
    for name in ("going-0", "going-1"):
        labels = {"kubernetes.io/hostname": name, "pool": "going", WRITABLE: "true"}
        body = {
            "metadata": {"name": name, "labels": labels},
            "status": {"capacity": AMOUNTS, "allocatable": AMOUNTS},
        }
        scene.api.ask("POST", "/api/v1/nodes", body)
    await asyncio.to_thread(until, "both nodes", lambda: _both_open(scene), 90)
    scene.api.ask("POST", DEPLOYMENTS.format(SHOP), deployment("going", 8, "going"))

    def running() -> list[Any]:
        return [one for one in scene.pods_on("going-0") if one["status"].get("phase") == "Running"]

    def take_away() -> None:
        scene.api.ask("DELETE", "/api/v1/nodes/going-0")
        for pod in scene.pods_on("going-0"):
            path = f"/api/v1/namespaces/{SHOP}/pods/{pod['metadata']['name']}"
            scene.api.ask("DELETE", path, {"gracePeriodSeconds": 0})

    try:
        await asyncio.to_thread(until, "pods on the node", lambda: len(running()) >= 3, 90)
        async with scene.session(pods_per_migration=3) as session:
            session.before_write(take_away, after=2)
            move = await session.decide(at_node(ActionKind.MIGRATE, "going-0"))
            assert move.outcome.phase is ExecutionPhase.FINISHED
            evicted = [
                one.code for one in move.requests if one.resource == "pods/eviction" and not one.dry
            ]
            assert evicted[0] == 201, evicted
            assert set(evicted[1:]) <= {404}, evicted
            again = await session.decide(
                at_node(ActionKind.DVFS, "going-0", clock_scale_ratio=0.65)
            )
            assert again.outcome.reason is Reason.TARGET_GONE, again.said
            assert not again.requests
    finally:
        scene.api.ask("DELETE", f"{DEPLOYMENTS.format(SHOP)}/going", propagationPolicy="Background")
        for name in ("going-0", "going-1"):
            scene.api.remove(f"/api/v1/nodes/{name}")


def _both_open(scene: CaseEnvironment) -> bool:
    found = scene.api.ask("GET", "/api/v1/nodes", labelSelector="pool=going")["items"]
    return len(found) == 2 and not any(one["spec"].get("taints") for one in found)


CASE = Case("a node that goes in mid-drain ends the plan", run, 35)
