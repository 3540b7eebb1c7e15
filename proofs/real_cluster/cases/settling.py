"""After a start nothing is begun until the cluster was seen whole for a while."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from schemas.reasons import Reason

SETTLE_SECONDS = 15.0


async def run(scene: CaseEnvironment) -> None:
    """Wish for a raise at once, and after the settling time."""
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-00")["spec"]["replicas"]
    async with scene.session(settle_seconds=SETTLE_SECONDS) as session:
        refused = await session.decide(at_workload("shop-00", now + 1))
        assert refused.outcome.reason is Reason.SETTLING, refused.said
        assert not refused.requests
        await asyncio.sleep(SETTLE_SECONDS)
        done = await session.decide(at_workload("shop-00", now + 1))
        assert done.outcome.succeeded, done.said
        await session.undo(done)


CASE = Case("nothing is begun right after a start", run, 38)
