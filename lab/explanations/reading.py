"""The objects of a live cluster, by lists alone; what cannot be read is named, and what rests on it is not known."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lab.explanations.frozen_cluster import RESOURCES, Object
from services.cluster import PAGE_ITEMS, ClusterRefused, Transport

CORE, STORAGE = "/api/v1", "/apis/storage.k8s.io/v1"
PATHS: Mapping[str, str] = {
    **{
        name: f"{CORE}/{name}"
        for name in (
            *("namespaces", "nodes", "pods", "services"),
            *("persistentvolumes", "persistentvolumeclaims"),
        )
    },
    **{
        name: f"{STORAGE}/{name}"
        for name in ("storageclasses", "csidrivers", "csinodes", "csistoragecapacities")
    },
    "volumeattachments": f"{STORAGE}/volumeattachments",
    "poddisruptionbudgets": "/apis/policy/v1/poddisruptionbudgets",
}
NEEDED = frozenset({"nodes", "pods"})
"""Without these nothing can be said."""


@dataclass(frozen=True, slots=True)
class ReadObjects:
    """Lists of one cluster."""

    objects: dict[str, list[Object]]
    missing: dict[str, str]
    """What could not be read, and the server's words."""
    from_seconds: float
    """The server's clock at the first list."""
    to_seconds: float
    """And at the last."""


async def read_objects(transport: Transport) -> ReadObjects:
    """List what the scheduler reads.

    Raises:
        ClusterUnavailable: no answer.
        ClusterRefused: nodes or pods may not be listed.
    """
    objects: dict[str, list[Object]] = {}
    missing: dict[str, str] = {}
    times: list[float] = []
    for resource in RESOURCES:
        try:
            objects[resource], at = await list_objects(transport, PATHS[resource])
        except ClusterRefused as error:
            if resource in NEEDED:
                raise
            missing[resource] = error.message
        else:
            times.append(at)
    return ReadObjects(objects, missing, min(times), max(times))


async def list_objects(
    transport: Transport, path: str, query: Mapping[str, str] | None = None
) -> tuple[list[Object], float]:
    """Return all pages of a list and the server's clock at the last one.

    Raises:
        ClusterUnavailable: no answer.
        ClusterRefused: an error.
    """
    items: list[Object] = []
    parameters = {"limit": str(PAGE_ITEMS), **(query or {})}
    while True:
        answer = await transport.request("GET", path, parameters)
        page: dict[str, Any] = json.loads(answer.body)
        items += page.get("items") or ()
        if not (token := (page.get("metadata") or {}).get("continue")):
            return items, answer.cluster_time_seconds
        parameters["continue"] = token
