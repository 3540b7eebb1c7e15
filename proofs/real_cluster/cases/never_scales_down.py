"""An autoscaler whose owner forbids it to scale down: what it added for us would stay for good."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseGround, at_workload
from proofs.real_cluster.cases.replicate_autoscaled import AUTOSCALERS
from proofs.real_cluster.own_nodes import having
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from schemas.reasons import Reason


async def run(scene: CaseGround) -> None:
    """Wish for more replicas of a Deployment with such an autoscaler."""
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-04")["spec"]["replicas"]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop-04"}
    spec = {
        "scaleTargetRef": target,
        "minReplicas": now,
        "maxReplicas": now + 5,
        "behavior": {"scaleDown": {"selectPolicy": "Disabled"}},
    }
    async with having(scene, AUTOSCALERS, {"metadata": {"name": "shop-04"}, "spec": spec}) as path:
        async with scene.session() as session:
            refused = await session.decide(at_workload("shop-04", now + 2))
        assert refused.outcome.reason is Reason.PROTECTED, refused.said
        assert "never scales down" in refused.outcome.text, refused.said
        assert not refused.requests
        assert scene.api.ask("GET", path)["spec"]["minReplicas"] == now


CASE = Case("an autoscaler that never scales down is not raised", run, 14)
