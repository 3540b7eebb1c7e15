"""replicate of a node: one replica more of the Deployment with most pods there."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.shadow_and_active import shadow_then_active
from schemas.actions import ActionKind


async def run(scene: CaseEnvironment) -> None:
    """Scale by one, and back."""
    done, back = await shadow_then_active(scene, at_node(ActionKind.REPLICATE, scene.node()))
    assert [one.resource for one in done.changed] == ["deployments/scale"]
    assert [one.key for one in back.changed] == [one.key for one in done.changed]


CASE = Case("one replica more of the Deployment with most pods on a node, and back", run, 11)
