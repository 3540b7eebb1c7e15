"""A field that a delivery tool applies is left to it, and its next apply meets no conflict."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP, deployment
from proofs.real_programs.requests import APPLY
from schemas.reasons import Reason

NAME = "delivered"


async def run(scene: CaseEnvironment) -> None:
    """Wish for more replicas of a Deployment that is applied with its number."""
    path = f"{DEPLOYMENTS.format(SHOP)}/{NAME}"
    body = deployment(NAME, 2, "shop")
    scene.api.ask("PATCH", path, body, APPLY, fieldManager="delivery")
    try:
        async with scene.session() as session:
            refused = await session.decide(at_workload(NAME, 4))
        assert refused.outcome.reason is Reason.FIELD_OWNED, refused.said
        assert not refused.requests
        scene.api.ask("PATCH", path, body, APPLY, fieldManager="delivery")  # 409 if we had taken it
    finally:
        scene.api.ask("DELETE", path, propagationPolicy="Background")


CASE = Case("replicas that somebody applies are not written", run, 33)
