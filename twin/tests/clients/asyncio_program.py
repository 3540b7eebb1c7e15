"""A program of somebody who uses kubernetes_asyncio."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from kubernetes_asyncio import client, config, watch


async def main(kubeconfig: str) -> dict[str, Any]:
    """List, watch, create, delete."""
    await config.load_kube_config(kubeconfig)
    async with client.ApiClient() as api:
        core = client.CoreV1Api(api)
        await core.create_namespace({"metadata": {"name": "client"}})
        since = (await core.list_namespaced_config_map("client")).metadata.resource_version
        body = {"metadata": {"name": "a"}, "data": {"a": "1"}}
        await core.create_namespaced_config_map("client", body)
        await core.patch_namespaced_config_map("a", "client", {"data": {"b": "2"}})
        events = []
        async with watch.Watch().stream(
            core.list_namespaced_config_map,
            "client",
            resource_version=since,
            field_selector="metadata.name=a",
            timeout_seconds=20,
        ) as stream:
            async for event in stream:
                events.append(event["type"])
                if event["type"] == "MODIFIED":
                    await core.delete_namespaced_config_map("a", "client")
                if event["type"] == "DELETED":
                    break
        return {
            "nodes": len((await core.list_node()).items),
            "pods": len((await core.list_pod_for_all_namespaces()).items),
            "events": events,
        }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(asyncio.run(main(sys.argv[1]))) + "\n")
