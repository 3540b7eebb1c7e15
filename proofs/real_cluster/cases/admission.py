"""admission: a waiting Job is suspended, and given back."""

from __future__ import annotations

import asyncio

from proofs.real_cluster.case import Case, CaseEnvironment, at_queue
from proofs.real_cluster.population import SHOP
from proofs.real_cluster.shadow_and_active import shadow_then_active
from proofs.real_programs.requests import until

JOBS = f"/apis/batch/v1/namespaces/{SHOP}/jobs"


async def run(scene: CaseEnvironment) -> None:
    """Hold a Job whose pods fit nowhere."""
    container = {"name": "c", "image": "i:1", "resources": {"requests": {"cpu": "64"}}}
    pod = {"containers": [container], "restartPolicy": "Never"}
    spec = {"completions": 2, "parallelism": 2, "template": {"spec": pod}}
    scene.api.ask("POST", JOBS, {"metadata": {"name": "late"}, "spec": spec})
    own = {"labelSelector": "job-name=late"}
    path = f"/api/v1/namespaces/{SHOP}/pods"
    try:
        await asyncio.to_thread(
            until, "two pods", lambda: len(scene.api.ask("GET", path, **own)["items"]) == 2
        )
        done, _ = await shadow_then_active(scene, at_queue("queue"))
        assert [one.key for one in done.changed] == [("jobs", SHOP, "late")]
        assert not scene.api.ask("GET", f"{JOBS}/late")["spec"].get("suspend")
    finally:
        scene.api.ask("DELETE", f"{JOBS}/late", propagationPolicy="Background")


CASE = Case("a waiting Job is suspended, and goes on after the undo", run, 19)
