"""A plan that ends in the middle is taken back by itself."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.population import SHOP
from schemas.actions import ActionKind
from schemas.reasons import Reason

BINDINGS = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SHOP}/rolebindings"
BINDING = "foresail-executor-write"


async def run(scene: CaseEnvironment) -> None:
    """Take the right to evict away after the taint is written."""
    node = scene.node(number=5)
    kept = scene.api.ask("GET", f"{BINDINGS}/{BINDING}")
    async with scene.session() as session:
        session.before_write(lambda: scene.api.remove(f"{BINDINGS}/{BINDING}"), after=1)
        try:
            half = await session.decide(at_node(ActionKind.MIGRATE, node))
            assert half.outcome.reason is Reason.FORBIDDEN, half.said
            back = await session.taken_back(half, "taken back by itself")
            assert back.outcome.succeeded, back.said
            assert not scene.api.ask("GET", f"/api/v1/nodes/{node}")["spec"].get("taints")
        finally:
            kept["metadata"] = {"name": BINDING}
            scene.api.ask("POST", BINDINGS, kept)


CASE = Case("a plan of which a part was written is taken back by itself", run, 41)
