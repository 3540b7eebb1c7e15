"""A rollout that its owner asked for is no failure, and what is done meanwhile is within its Deployment."""

from __future__ import annotations

import asyncio
import time

from proofs.real_cluster.case import Case, CaseGround, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from proofs.real_programs.requests import until

NAME = "shop-04"


async def run(scene: CaseGround) -> None:
    """Restart all pods of a Deployment as `kubectl rollout restart` does, and look at the health that is seen."""
    path = f"{DEPLOYMENTS.format(SHOP)}/{NAME}"
    async with scene.session() as session:
        before = (await session.observation()).data.totals
        stamp = {"kubectl.kubernetes.io/restartedAt": f"{time.time():.0f}"}
        template = {"template": {"metadata": {"annotations": stamp}}}
        scene.api.ask("PATCH", path, {"spec": template})
        worst = 0
        for _ in range(4):
            await asyncio.sleep(2.0)
            seen = (await session.observation()).data.totals
            worst = max(worst, seen.sla_violations - before.sla_violations)
        assert worst <= 0, f"{worst} more pods count as unhealthy in a rollout"
        now = scene.api.ask("GET", path)["spec"]["replicas"]
        done = await session.decide(at_workload(NAME, now + 1))
        assert done.outcome.succeeded, done.said
        await session.undo(done)
    await asyncio.to_thread(until, "the rollout's end", lambda: _rolled_out(scene, path), 120)
    scene.notes.append("no pod more counted as unhealthy in 8 s of the rollout")


def _rolled_out(scene: CaseGround, path: str) -> bool:
    status = scene.api.ask("GET", path)["status"]
    return bool(status.get("updatedReplicas", 0) >= status.get("replicas", 0) > 0)


CASE = Case("a rolling restart is no failure", run, 47)
