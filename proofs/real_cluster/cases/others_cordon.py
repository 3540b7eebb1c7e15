"""Somebody else's cordon stays: our undo takes away what is ours alone."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from schemas.actions import ActionKind


async def run(scene: CaseEnvironment) -> None:
    """Put a node to sleep that an administrator cordoned before, and take it back."""
    path = f"/api/v1/nodes/{scene.node('spare')}"
    scene.api.ask("PATCH", path, {"spec": {"unschedulable": True}})
    try:
        async with scene.session() as session:
            node = scene.node("spare")
            done = await session.decide(at_node(ActionKind.POWER_STATE, node, power_state="sleep"))
            assert done.outcome.succeeded, done.said
            back = await session.undo(done)
            assert back.outcome.succeeded, back.said
        found = scene.api.ask("GET", path)
        assert found["spec"].get("unschedulable") is True
        assert "foresail.dev/power-state" not in found["metadata"].get("annotations", {})
    finally:
        scene.api.ask("PATCH", path, {"spec": {"unschedulable": None}})


CASE = Case("a cordon that somebody else set is still there after our undo", run, 31)
