"""All nodes turn NotReady at once: nothing is begun until they are back."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_node, at_workload
from proofs.real_cluster.population import DEPLOYMENTS, SHOP
from proofs.real_programs.requests import Object, until
from schemas.actions import ActionKind
from schemas.reasons import Reason

SILENT_SECONDS = 240.0


async def run(scene: CaseEnvironment) -> None:
    """Let every kubelet fall silent; wish for three kinds of action; let them speak again."""
    now = scene.api.ask("GET", f"{DEPLOYMENTS.format(SHOP)}/shop-00")["spec"]["replicas"]
    scene.cluster.kubelets.fall_silent()
    try:
        await asyncio.to_thread(
            until, "nodes NotReady", lambda: not any(_ready(scene)), SILENT_SECONDS
        )
        async with scene.session() as session:
            for action in (
                at_workload("shop-00", now + 1),
                at_node(ActionKind.DVFS, scene.node(number=2), clock_scale_ratio=0.65),
                at_node(ActionKind.POWER_STATE, scene.node("spare"), power_state="sleep"),
            ):
                refused = await session.decide(action)
                assert refused.outcome.reason is Reason.UNREADY_NODES, refused.said
                assert not refused.changed
    finally:
        scene.cluster.kubelets.speak_again()
    await asyncio.to_thread(until, "ready nodes", lambda: all(_ready(scene)), SILENT_SECONDS)
    ending = sum("deletionTimestamp" in pod["metadata"] for pod in scene.api.items("/api/v1/pods"))
    scene.notes.append(
        f"{ending} pods were being evicted by Kubernetes itself when the nodes were back"
    )
    async with scene.session() as session:
        done = await session.decide(at_workload("shop-00", now + 1))
        assert done.outcome.succeeded, done.said
        await session.undo(done)


def _ready(scene: CaseEnvironment) -> list[bool]:
    return [_is_ready(node) for node in scene.api.items("/api/v1/nodes")]


def _is_ready(node: Object) -> bool:
    conditions = node["status"].get("conditions", ())
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


CASE = Case("where all nodes turn NotReady together nothing is begun", run, 72)
