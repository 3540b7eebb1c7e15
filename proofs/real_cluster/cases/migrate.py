"""migrate: in shadow nothing changes; active the taint and two evictions reach the server, and undo takes the taint."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.shadow_and_active import shadow_then_active
from schemas.actions import ActionKind


async def run(scene: CaseEnvironment) -> None:
    """Move pods off a node of the shop."""
    node = scene.node()
    done, back = await shadow_then_active(scene, at_node(ActionKind.MIGRATE, node))
    written = [one.resource for one in done.changed]
    assert written == ["nodes", "pods/eviction", "pods/eviction"], written
    assert [one.key for one in back.changed] == [("nodes", "", node)]
    assert not scene.api.ask("GET", f"/api/v1/nodes/{node}")["spec"].get("taints")


CASE = Case("pods are moved off a node; the taint goes with the undo", run, 10)
