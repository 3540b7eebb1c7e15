"""replicate of a workload that an autoscaler scales: the autoscaler's minimum, never beyond its maximum."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from proofs.real_cluster.shadow_and_active import shadow_then_active
from schemas.reasons import Reason

AUTOSCALERS = f"/apis/autoscaling/v2/namespaces/{SHOP}/horizontalpodautoscalers"


async def run(scene: CaseEnvironment) -> None:
    """Raise the minimum; then wish for more than the owner's maximum."""
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-01")["spec"]["replicas"]
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "shop-01"}
    usage = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 30}},
    }
    spec = {"scaleTargetRef": target, "minReplicas": 1, "maxReplicas": now + 2, "metrics": [usage]}
    scene.api.ask("POST", AUTOSCALERS, {"metadata": {"name": "shop-01"}, "spec": spec})
    try:
        done, _ = await shadow_then_active(scene, at_workload("shop-01", now + 1))
        assert [one.key[0] for one in done.changed] == ["horizontalpodautoscalers"]
        assert scene.api.ask("GET", f"{AUTOSCALERS}/shop-01")["spec"]["minReplicas"] == 1
        async with scene.session() as session:
            first = await session.decide(at_workload("shop-01", now + 9))
            assert first.outcome.succeeded, first.said
            raised = scene.api.ask("GET", f"{AUTOSCALERS}/shop-01")["spec"]["minReplicas"]
            assert raised == now + 2, raised
            again = await session.decide(at_workload("shop-01", now + 12))
            assert not again.requests
            assert again.outcome.reason in {Reason.AUTOSCALER_MAXIMUM, Reason.COOL_DOWN}, again.said
            await session.undo(first)
    finally:
        scene.api.remove(f"{AUTOSCALERS}/shop-01")
        scene.api.ask("PATCH", f"{DEPLOYMENTS.format(SHOP)}/shop-01", {"spec": {"replicas": now}})


CASE = Case("an autoscaler's minimum is raised within its owner's maximum, and given back", run, 13)
