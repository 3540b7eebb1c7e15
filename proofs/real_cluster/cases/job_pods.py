"""Pods of Jobs stay unless the setting says so: their work would begin anew."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_node
from proofs.real_cluster.population import POOL, SHOP
from proofs.real_programs.requests import until
from schemas.actions import ActionKind
from schemas.reasons import Reason

JOBS = f"/apis/batch/v1/namespaces/{SHOP}/jobs"


async def run(scene: CaseEnvironment) -> None:
    """Move pods off a node that runs those of a Job alone."""
    node = scene.node("spare", 1)
    spread = [{"maxSkew": 1, "topologyKey": "kubernetes.io/hostname", "whenUnsatisfiable": "DoNotSchedule",
               "labelSelector": {"matchLabels": {"job-name": "work"}}}]  # fmt: skip
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "100m"}}}
    pod = {"containers": [container], "restartPolicy": "Never", "nodeSelector": {POOL: "spare"}}
    spec = {
        "parallelism": 4,
        "completions": 4,
        "template": {"spec": {**pod, "topologySpreadConstraints": spread}},
    }
    scene.api.ask("POST", JOBS, {"metadata": {"name": "work"}, "spec": spec})
    try:
        await asyncio.to_thread(until, "a pod of the Job", lambda: scene.pods_on(node))
        async with scene.session() as session:
            refused = await session.decide(at_node(ActionKind.MIGRATE, node))
            assert refused.outcome.reason is Reason.NO_MOVABLE_POD, refused.said
            assert not refused.requests
        async with scene.session(move_job_pods=True) as session:
            moved = await session.decide(at_node(ActionKind.MIGRATE, node))
            assert moved.outcome.succeeded, moved.said
            await session.undo(moved)
    finally:
        scene.api.ask("DELETE", f"{JOBS}/work", propagationPolicy="Background")


CASE = Case("pods of a Job are moved only where that is allowed", run, 39)
