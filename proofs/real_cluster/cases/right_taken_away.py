"""A right that is taken away: the write is refused by the server, the event says so, and others go on."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from schemas.actions import ActionKind
from schemas.reasons import Reason

BINDINGS = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{SHOP}/rolebindings"
BINDING = "foresail-executor-write"


async def run(scene: CaseEnvironment) -> None:
    """Remove the binding in the namespace; then wish for a raise there and a limit on a node."""
    kept = scene.api.ask("GET", f"{BINDINGS}/{BINDING}")
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-00")["spec"]["replicas"]
    async with scene.session() as session:
        scene.api.remove(f"{BINDINGS}/{BINDING}")
        try:
            refused = await session.decide(at_workload("shop-00", now + 1))
            assert refused.outcome.reason is Reason.FORBIDDEN, refused.said
            assert [one.code for one in refused.requests] == [403]
            node = at_node(ActionKind.DVFS, scene.node(number=5), clock_scale_ratio=0.65)
            done = await session.decide(node)
            assert done.outcome.succeeded, done.said
            await session.undo(done)
        finally:
            kept["metadata"] = {"name": BINDING}
            scene.api.ask("POST", BINDINGS, kept)


CASE = Case("a right that is taken away is said by the write that lacks it", run, 37)
