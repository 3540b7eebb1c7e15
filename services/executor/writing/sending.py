"""The request of one operation, in the form that the API server takes it.

Every write names us as its field manager, so `kubectl get --show-managed-fields` says who wrote what.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from schemas.outcome import Operation, Verb
from services.cluster import (
    JSON_PATCH,
    MERGE_PATCH,
    STRATEGIC_PATCH,
    ApiResponse,
    ClusterRefused,
    Transport,
)
from services.executor.plans.taints import taint_patch
from services.executor.reading.objects import object_path
from services.kube_objects import FIELD_MANAGER

TAINT_ATTEMPTS = 3
"""A node's status is written every few seconds by others, and each of their writes is a new version."""


async def send_operation(
    transport: Transport, operation: Operation, *, dry_run: bool
) -> ApiResponse | None:
    """Send one operation and return the server's answer; None: there was nothing to write.

    Raises:
        ClusterUnavailable, ClusterRefused: it was not done, or nobody knows.
    """
    path = object_path(operation)
    query = {"dryRun": "All"} if dry_run else {}
    if operation.verb is Verb.DELETE:
        options: dict[str, Any] = {"preconditions": {"uid": operation.uid}}
        if dry_run:  # beside a body, the API server does not read the query of a DELETE
            options["dryRun"] = ["All"]
        return await transport.request("DELETE", path, query, options)
    query["fieldManager"] = FIELD_MANAGER
    match operation.verb:
        case Verb.EVICT:
            return await transport.request("POST", f"{path}/eviction", query, _eviction(operation))
        case Verb.CREATE:
            content = json.loads(operation.patch)
            return await transport.request("POST", path.rpartition("/")[0], query, content)
        case Verb.TAINT:
            return await _send_taints(transport, operation, path, query)
        case Verb.SCALE:
            version = operation.resource_version
            metadata = {"resourceVersion": version} if version else {}
            scale = {"metadata": metadata, "spec": {"replicas": operation.replicas}}
            return await transport.request("PATCH", f"{path}/scale", query, scale, MERGE_PATCH)
        case Verb.RESIZE:
            patch = _conditional(operation)
            return await transport.request("PATCH", f"{path}/resize", query, patch, STRATEGIC_PATCH)
        case _:
            return await transport.request(
                "PATCH", path, query, _conditional(operation), MERGE_PATCH
            )


def _eviction(operation: Operation) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": operation.name, "namespace": operation.namespace},
        "deleteOptions": {"preconditions": {"uid": operation.uid}},
    }


def _conditional(operation: Operation) -> dict[str, Any]:
    """Return the patch, tied to the object's uid and, where that matters, to its version."""
    patch: dict[str, Any] = json.loads(operation.patch)
    conditions = {"uid": operation.uid, "resourceVersion": operation.resource_version}
    preconditions = {name: value for name, value in conditions.items() if value}
    patch["metadata"] = {**patch.get("metadata", {}), **preconditions}
    return patch


async def _send_taints(
    transport: Transport, operation: Operation, path: str, query: Mapping[str, str]
) -> ApiResponse | None:
    """Change our taints of the node as it is now; others may write it meanwhile.

    Raises:
        ClusterUnavailable, ClusterRefused: as the server says; 409 also where another node has the name.
    """
    for left in reversed(range(TAINT_ATTEMPTS)):
        answer = await transport.request("GET", path)
        node = json.loads(answer.body)
        if operation.uid and node["metadata"].get("uid") != operation.uid:
            raise ClusterRefused(409, "Conflict", f"{operation.name} is another node now")
        patch = taint_patch(node, operation.patch)
        if not patch:
            return None
        try:
            return await transport.request("PATCH", path, query, patch, JSON_PATCH)
        except ClusterRefused as error:
            if error.status not in {409, 422} or not left:
                raise
    raise AssertionError("the last attempt returns or raises")
