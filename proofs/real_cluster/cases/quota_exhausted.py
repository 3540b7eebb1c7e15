"""An exhausted ResourceQuota: no replicas are asked for that could not be made."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from proofs.real_programs.requests import until
from schemas.reasons import Reason

QUOTAS = f"/api/v1/namespaces/{SHOP}/resourcequotas"


async def run(scene: CaseEnvironment) -> None:
    """Wish for more while the quota is full, then with room for one pod."""
    deployment = f"{DEPLOYMENTS.format(SHOP)}/shop-00"
    now = scene.api.ask("GET", deployment)["spec"]["replicas"]
    await asyncio.to_thread(until, "no pod that ends", lambda: not _ending(scene))
    pods = len(scene.api.items(f"/api/v1/namespaces/{SHOP}/pods"))

    def shown(hard: int) -> bool:
        status = scene.api.ask("GET", f"{QUOTAS}/team").get("status", {})
        wanted = {"hard": {"pods": str(hard)}, "used": {"pods": str(pods)}}
        return bool(status == wanted)

    body = {"metadata": {"name": "team"}, "spec": {"hard": {"pods": str(pods)}}}
    scene.api.ask("POST", QUOTAS, body)
    try:
        await asyncio.to_thread(until, "the quota's use", lambda: shown(pods))
        async with scene.session() as session:
            refused = await session.decide(at_workload("shop-00", now + 2))
            assert refused.outcome.reason is Reason.QUOTA_EXHAUSTED, refused.said
            assert not refused.requests
            scene.api.ask("PATCH", f"{QUOTAS}/team", {"spec": {"hard": {"pods": str(pods + 1)}}})
            await asyncio.to_thread(until, "room for a pod", lambda: shown(pods + 1))
            done = await session.decide(at_workload("shop-00", now + 2))
            assert done.outcome.succeeded, done.said
            assert scene.api.ask("GET", deployment)["spec"]["replicas"] == now + 1, done.said
            await session.undo(done)
    finally:
        scene.api.remove(f"{QUOTAS}/team")


def _ending(scene: CaseEnvironment) -> bool:
    pods = scene.api.items(f"/api/v1/namespaces/{SHOP}/pods")
    return any("deletionTimestamp" in pod["metadata"] for pod in pods)


CASE = Case("a full quota refuses a raise, and one with room for a pod cuts it", run, 34)
