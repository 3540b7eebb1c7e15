"""memory_balloon: lower memory requests of running pods, in place, once what they use is known."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.shadow_and_active import shadow_then_active
from schemas.actions import ActionKind

USAGE_SECONDS = 20.0


async def run(scene: CaseEnvironment) -> None:
    """Resize pods of a node, and back."""
    action = at_node(ActionKind.MEMORY_BALLOON, scene.node(number=1), memory_scale_ratio=0.75)
    done, back = await shadow_then_active(scene, action, usage_seconds=USAGE_SECONDS)
    assert {one.resource for one in done.changed} == {"pods/resize"}
    assert sorted(one.key for one in back.changed) == sorted(one.key for one in done.changed)


CASE = Case("memory requests of running pods are lowered in place, and given back", run, 15)
