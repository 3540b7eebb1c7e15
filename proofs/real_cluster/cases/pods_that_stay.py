"""Pods that do not end when they are evicted: a finalizer, an hour of grace. No second eviction, and no second node."""

from __future__ import annotations

from typing import Any

from proofs.real_cluster.case import Case, CaseGround, at_node
from proofs.real_cluster.own_nodes import POOL, own_nodes, pods_named, running, wait
from proofs.real_cluster.population import SHOP, deployment
from schemas.actions import ActionKind
from schemas.outcome import OutcomeVerification

FINALIZER = "example.com/slow"


def _ending(scene: CaseGround) -> list[Any]:
    return [pod for pod in pods_named(scene, "odd") if "deletionTimestamp" in pod["metadata"]]


async def run(scene: CaseGround) -> None:
    """Evict pods that have a finalizer, twice; then let them go."""
    body = deployment("odd", 6, POOL, terminationGracePeriodSeconds=3_600)
    body["spec"]["template"]["metadata"]["finalizers"] = [FINALIZER]
    try:
        async with (
            own_nodes(scene),
            running(scene, body),
            scene.session(cool_down_seconds=0, pods_per_migration=1, budgets=()) as session,
        ):
            first = await session.decide(at_node(ActionKind.MIGRATE, "odd-0"))
            assert first.outcome.succeeded, first.said
            await wait("the first pod's end to begin", lambda: len(_ending(scene)) == 1)
            again = await session.decide(at_node(ActionKind.MIGRATE, "odd-0"))
            evicted = [
                one.name
                for step in (first, again)
                for one in step.changed
                if one.resource == "pods/eviction"
            ]
            assert len(evicted) == len(set(evicted)), evicted
            judged = await session.wait_for(
                "the verdict", lambda: session.events(OutcomeVerification)
            )
            scene.notes.append(
                f"evicted once each: {', '.join(evicted)}; verified as {judged[0].data.status}: {judged[0].data.text}"
            )
            await session.undo(first)
    finally:
        for pod in pods_named(scene, "odd"):
            path = f"/api/v1/namespaces/{SHOP}/pods/{pod['metadata']['name']}"
            scene.api.ask("PATCH", path, {"metadata": {"finalizers": None}})


CASE = Case("pods that do not end are evicted once", run, 44)
