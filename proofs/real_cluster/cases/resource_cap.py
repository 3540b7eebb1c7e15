"""resource_cap: a quota of our own, only where a LimitRange gives defaults."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.population import SHOP
from proofs.real_cluster.shadow_and_active import shadow_then_active
from schemas.actions import ActionKind
from schemas.reasons import Reason

RANGES = f"/api/v1/namespaces/{SHOP}/limitranges"
QUOTAS = f"/api/v1/namespaces/{SHOP}/resourcequotas"


async def run(scene: CaseEnvironment) -> None:
    """Cap the namespace without defaults, which is refused, and with them."""
    action = at_node(ActionKind.RESOURCE_CAP, scene.node(), cpu_cap_ratio=0.8, memory_cap_ratio=0.8)
    async with scene.session() as session:
        refused = await session.decide(action)
        assert refused.outcome.reason is Reason.NO_DEFAULTS, refused.said
        assert not refused.requests
    default = {"cpu": "100m", "memory": "128Mi"}
    spec = {"limits": [{"type": "Container", "defaultRequest": default}]}
    scene.api.ask("POST", RANGES, {"metadata": {"name": "defaults"}, "spec": spec})
    try:
        done, back = await shadow_then_active(scene, action)
        assert [one.verb for one in (*done.changed, *back.changed)] == ["create", "delete"]
        assert not scene.api.items(QUOTAS)
    finally:
        scene.api.remove(f"{RANGES}/defaults")


CASE = Case("a namespace is capped by a quota of ours, which the undo deletes", run, 17)
