"""An operator of somebody who uses kopf: it annotates ConfigMaps, holds them by a finalizer, and
posts events about them.
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from typing import Any

import kopf
from kubernetes import client, config

from tests.patience import HANGS_SECONDS

seen: dict[str, Any] = {"created": 0, "deleted": 0, "watched": 0, "ticks": 0}


@kopf.on.create("configmaps", labels={"mine": "yes"})
def created(name: str, body: Any, **_: Any) -> dict[str, str]:
    """Count a creation and report it."""
    seen["created"] += 1
    kopf.info(body, reason="Seen", message=f"saw {name}")
    return {"seen": name}


@kopf.on.delete("configmaps", labels={"mine": "yes"})
def deleted(**_: Any) -> None:
    """Count a deletion; kopf's finalizer held the object until now."""
    seen["deleted"] += 1


@kopf.timer("configmaps", labels={"mine": "yes"}, interval=0.2)
def ticked(**_: Any) -> None:
    """Count what happens again and again as long as the object is there."""
    seen["ticks"] += 1


@kopf.on.event("pods")
def watched(**_: Any) -> None:
    """Count what a plain watch tells."""
    seen["watched"] += 1


async def main(kubeconfig: str) -> dict[str, Any]:
    """Run the operator next to somebody who creates and deletes."""
    logging.basicConfig(level=logging.INFO)  # on stderr, which a failing test shows
    config.load_kube_config(kubeconfig)
    stop = asyncio.Event()
    running = asyncio.create_task(
        kopf.operator(clusterwide=True, standalone=True, stop_flag=stop)  # type: ignore[arg-type]
    )
    core = client.CoreV1Api()
    body = {"metadata": {"name": "a", "labels": {"mine": "yes"}}, "data": {"a": "1"}}
    await asyncio.to_thread(core.create_namespaced_config_map, "default", body)
    await _until(lambda: seen["created"] == 1 and seen["ticks"] >= 3)
    held = await asyncio.to_thread(core.read_namespaced_config_map, "a", "default")
    seen["held"] = len(held.metadata.finalizers or [])
    await asyncio.to_thread(core.delete_namespaced_config_map, "a", "default")
    await _until(lambda: seen["deleted"] == 1)
    stop.set()
    await running
    events = await asyncio.to_thread(core.list_namespaced_event, "default")
    seen["reported"] = sum(event.reason == "Seen" for event in events.items)
    return seen


async def _until(condition: Any) -> None:
    async with asyncio.timeout(HANGS_SECONDS):
        while not condition():
            await asyncio.sleep(0.05)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(sys.argv[1]))) + "\n")
