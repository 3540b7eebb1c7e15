"""A budget that the executor may not read: the server's refusal of a dry run makes it take the next pods."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.population import SHOP
from proofs.real_programs.requests import until
from schemas.actions import ActionKind

BUDGETS = f"/apis/policy/v1/namespaces/{SHOP}/poddisruptionbudgets"
ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/foresail-executor"


async def run(scene: CaseEnvironment) -> None:
    """Hold the pods that would go first; forbid to read budgets; move pods off the node."""
    node = scene.node(number=3)
    first = min(_apps(scene, node))
    kept = scene.api.ask("GET", ROLE)["rules"]
    blind = [rule for rule in kept if "poddisruptionbudgets" not in rule["resources"]]
    body = {"minAvailable": "100%", "selector": {"matchLabels": {"app": first}}}
    scene.api.ask("POST", BUDGETS, {"metadata": {"name": "held"}, "spec": body})
    scene.api.ask("PATCH", ROLE, {"rules": blind})
    try:
        await asyncio.to_thread(
            until,
            "the budget's count",
            lambda: scene.api.ask("GET", f"{BUDGETS}/held").get("status", {}).get("expectedPods"),
        )
        async with scene.session() as session:
            moved = await session.decide(at_node(ActionKind.MIGRATE, node))
            assert moved.outcome.succeeded, moved.said
            tried = [one for one in moved.requests if one.resource == "pods/eviction"]
            assert 429 in {one.code for one in tried if one.dry}, tried
            gone = [one.name for one in tried if one.changed]
            assert len(gone) == 2, gone
            assert not any(name.startswith(first) for name in gone), gone
            await session.undo(moved)
    finally:
        scene.api.ask("PATCH", ROLE, {"rules": kept})
        scene.api.remove(f"{BUDGETS}/held")


def _apps(scene: CaseEnvironment, node: str) -> list[str]:
    return [str(pod["metadata"]["labels"]["app"]) for pod in scene.pods_on(node)]


CASE = Case("pods that a budget holds leave room for the next candidates", run, 40)
