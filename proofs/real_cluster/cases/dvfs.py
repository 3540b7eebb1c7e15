"""dvfs: a clock limit is an annotation of the node, for a node agent."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.shadow_and_active import shadow_then_active
from schemas.actions import ActionKind


async def run(scene: CaseEnvironment) -> None:
    """Annotate a node, and take it back."""
    node = scene.node(number=2)
    await shadow_then_active(scene, at_node(ActionKind.DVFS, node, clock_scale_ratio=0.65))
    notes = scene.api.ask("GET", f"/api/v1/nodes/{node}")["metadata"].get("annotations", {})
    assert "foresail.dev/clock-scale" not in notes, notes


CASE = Case("a node's clock limit is annotated, and the annotation goes again", run, 16)
