"""A PodDisruptionBudget that allows nothing: refused beforehand, by the server where it comes at the last moment."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.population import SHOP
from proofs.real_programs.requests import Object, until
from schemas.actions import ActionKind
from schemas.reasons import Reason

BUDGETS = f"/apis/policy/v1/namespaces/{SHOP}/poddisruptionbudgets"
ALL_APPS = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}


async def run(scene: CaseEnvironment) -> None:
    """Try to move pods with the budget there, and with one that appears between plan and eviction."""
    move = at_node(ActionKind.MIGRATE, scene.node(number=3))

    def forbid() -> None:
        body = {
            "metadata": {"name": "none"},
            "spec": {"minAvailable": "100%", "selector": ALL_APPS},
        }
        scene.api.ask("POST", BUDGETS, body)

    def settled() -> bool:
        found: Object = scene.api.ask("GET", f"{BUDGETS}/none").get("status", {})
        return bool(found.get("expectedPods")) and not found.get("disruptionsAllowed")

    try:
        async with scene.session() as session:
            session.before_write(forbid, after=1)
            late = await session.decide(move)
            assert late.outcome.reason is Reason.PDB, late.said
            real = [one for one in late.requests if one.resource == "pods/eviction" and not one.dry]
            assert {one.code for one in real} == {429}, real
            back = await session.taken_back(late, "the taint is taken back by itself")
            assert back.outcome.succeeded, back.said
            await asyncio.to_thread(until, "a budget of zero", settled)
        async with scene.session() as session:
            refused = await session.decide(move)
            assert refused.outcome.reason is Reason.PDB, refused.said
            assert not refused.requests
    finally:
        scene.api.remove(f"{BUDGETS}/none")
        node = f"/api/v1/nodes/{scene.node(number=3)}"
        scene.api.ask("PATCH", node, {"spec": {"taints": None}})


CASE = Case("no pod is evicted against a disruption budget at zero", run, 30)
