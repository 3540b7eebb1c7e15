"""replicate of a workload that nobody scales: its number and our annotation, and both back."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from proofs.real_cluster.shadow_and_active import shadow_then_active


async def run(scene: CaseEnvironment) -> None:
    """Raise a Deployment by two."""
    path = f"{DEPLOYMENTS.format(SHOP)}/shop-00"
    before = scene.api.ask("GET", path)
    wanted = before["spec"]["replicas"] + 2
    done, _ = await shadow_then_active(scene, at_workload("shop-00", wanted))
    assert [one.key for one in done.changed] == [("deployments", SHOP, "shop-00")]
    after = scene.api.ask("GET", path)
    assert after["spec"]["replicas"] == before["spec"]["replicas"]
    assert "foresail.dev/owner-replicas" not in after["metadata"].get("annotations", {})


CASE = Case("a Deployment gets two replicas more, and its owner's number back", run, 12)
