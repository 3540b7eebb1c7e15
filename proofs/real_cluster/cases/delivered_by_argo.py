"""Argo CD without Server-Side Apply: its manifest's replicas are its own; what the manifest leaves out is not."""

from __future__ import annotations

import json

from proofs.real_cluster.case import Case, CaseGround, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP, deployment
from schemas.reasons import Reason
from services.executor.field_owners import LAST_APPLIED

MANAGER = "argocd-controller"


async def run(scene: CaseGround) -> None:
    """Deliver one Deployment with its number and one without; wish for more of both."""
    spaces = DEPLOYMENTS.format(SHOP)
    for name, numbered in (("argo-fixed", True), ("argo-free", False)):
        body = deployment(name, 2, "shop")
        if not numbered:
            del body["spec"]["replicas"]
        body["metadata"]["annotations"] = {LAST_APPLIED: json.dumps(body)}
        scene.api.ask("POST", spaces, body, fieldManager=MANAGER)
    try:
        async with scene.session(cool_down_seconds=0) as session:
            refused = await session.decide(at_workload("argo-fixed", 4))
            assert refused.outcome.reason is Reason.FIELD_OWNED, refused.said
            assert not refused.requests
            done = await session.decide(at_workload("argo-free", 2))
            assert done.outcome.succeeded, done.said
            await session.undo(done)
        assert scene.api.ask("GET", f"{spaces}/argo-free")["spec"]["replicas"] == 1
    finally:
        for name in ("argo-fixed", "argo-free"):
            scene.api.ask("DELETE", f"{spaces}/{name}", propagationPolicy="Background")


CASE = Case("what Argo CD sets back is left to it", run, 33)
