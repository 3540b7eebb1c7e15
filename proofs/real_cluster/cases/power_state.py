"""power_state: an empty node sleeps, one with pods does not."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.shadow_and_active import shadow_then_active
from schemas.actions import ActionKind
from schemas.reasons import Reason


async def run(scene: CaseEnvironment) -> None:
    """Put a spare node to sleep and wake it; leave one alone that runs pods."""
    node = scene.node("spare")
    done, _ = await shadow_then_active(
        scene, at_node(ActionKind.POWER_STATE, node, power_state="sleep")
    )
    assert [one.key for one in done.changed] == [("nodes", "", node)]
    assert not scene.api.ask("GET", f"/api/v1/nodes/{node}")["spec"].get("unschedulable")
    async with scene.session() as session:
        busy = at_node(ActionKind.POWER_STATE, scene.node(), power_state="sleep")
        refused = await session.decide(busy)
    assert refused.outcome.reason is Reason.NODE_NOT_EMPTY, refused.said
    assert not refused.requests


CASE = Case("an empty node is cordoned and sleeps, and the undo wakes it", run, 18)
