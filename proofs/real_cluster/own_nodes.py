"""Nodes and objects of a case's own, beside the population, which are taken away with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from proofs.real_cluster.case import CaseGround
from proofs.real_cluster.population import DEPLOYMENTS, SHOP, WRITABLE
from proofs.real_programs.requests import Object, Refused, until

POOL = "odd"
AMOUNTS = {"cpu": "4", "memory": "8Gi", "pods": "110"}
NODES = ("odd-0", "odd-1")
WAIT_SECONDS = 120


@asynccontextmanager
async def own_nodes(scene: CaseGround) -> AsyncIterator[None]:
    """Have two nodes that may be written, for pods that choose the pool."""
    for name in NODES:
        labels = {"kubernetes.io/hostname": name, "pool": POOL, WRITABLE: "true"}
        status = {"capacity": AMOUNTS, "allocatable": AMOUNTS}
        body = {"metadata": {"name": name, "labels": labels}, "status": status}
        scene.api.ask("POST", "/api/v1/nodes", body)
    try:
        await wait("both nodes", lambda: _both_open(scene))
        yield
    finally:
        for name in NODES:
            scene.api.remove(f"/api/v1/nodes/{name}")


@asynccontextmanager
async def having(scene: CaseGround, collection: str, body: Object) -> AsyncIterator[str]:
    """Have an object within the context; yields its path."""
    scene.api.ask("POST", collection, body)
    path = f"{collection}/{body['metadata']['name']}"
    try:
        yield path
    finally:
        with suppress(Refused):
            scene.api.ask("DELETE", path, propagationPolicy="Background")


@asynccontextmanager
async def running(
    scene: CaseGround, body: Object, *, namespace: str = SHOP, collection: str = ""
) -> AsyncIterator[str]:
    """Have a Deployment (or what else the collection holds) within the context, once its pods run."""
    async with having(scene, collection or DEPLOYMENTS.format(namespace), body) as path:
        wanted = body["spec"]["replicas"]

        def ready() -> bool:
            return bool(scene.api.ask("GET", path)["status"].get("readyReplicas", 0) == wanted)

        await wait(f"the pods of {path}", ready)
        yield path


async def wait(what: str, so: Callable[[], Any]) -> None:
    """Wait until something is so."""
    await asyncio.to_thread(until, what, so, WAIT_SECONDS)


def pods_named(scene: CaseGround, app: str, namespace: str = SHOP) -> list[Object]:
    """Return the pods of an application, those that are ending among them."""
    path = f"/api/v1/namespaces/{namespace}/pods"
    found: list[Object] = scene.api.ask("GET", path, labelSelector=f"app={app}")["items"]
    return found


def _both_open(scene: CaseGround) -> bool:
    found = scene.api.ask("GET", "/api/v1/nodes", labelSelector=f"pool={POOL}")["items"]
    return len(found) == len(NODES) and not any(one["spec"].get("taints") for one in found)
