"""Somebody else's taints stay, also one that is set between our look and our write."""

from __future__ import annotations

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_programs.requests import Object
from schemas.actions import ActionKind

THEIRS = {"key": "team.example/reserved", "value": "x", "effect": "PreferNoSchedule"}
LATE = {"key": "team.example/late", "value": "y", "effect": "PreferNoSchedule"}


async def run(scene: CaseEnvironment) -> None:
    """Taint a tainted node while another taint comes, and take ours back."""
    node = scene.node(number=4)
    path = f"/api/v1/nodes/{node}"

    def taints() -> list[Object]:
        found: list[Object] = scene.api.ask("GET", path)["spec"].get("taints") or []
        return [{key: one[key] for key in ("key", "value", "effect")} for one in found]

    def add_another() -> None:
        scene.api.ask("PATCH", path, {"spec": {"taints": [*taints(), LATE]}})

    scene.api.ask("PATCH", path, {"spec": {"taints": [THEIRS]}})
    try:
        async with scene.session() as session:
            session.before_write(add_another)
            done = await session.decide(at_node(ActionKind.MIGRATE, node))
            assert done.outcome.succeeded, done.said
            assert [one["key"] for one in taints()] == [
                THEIRS["key"], LATE["key"], "foresail.dev/risk",
            ]  # fmt: skip
            tried = [one.code for one in done.requests if one.resource == "nodes"]
            assert tried[-1] == 200, tried
            assert len(tried) == 2, tried
            back = await session.undo(done)
            assert back.outcome.succeeded, back.said
        assert taints() == [THEIRS, LATE]
    finally:
        scene.api.ask("PATCH", path, {"spec": {"taints": None}})


CASE = Case("taints of others stay while ours comes and goes", run, 32)
