"""Bringing manifests into a cluster: what would change, checked by the API server itself, and doing it.

Written by server-side apply, so an object that stands there already keeps what others own of it. An object
without our label belongs to somebody else: it is left as it is, and said so.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from lab.queue.manifests import MANAGED_BY, OWNER, Manifest
from services.cluster import ClusterRefused, Transport
from services.kube_objects import FIELD_MANAGER

APPLY = "application/apply-patch+yaml"
Step = Literal["create", "change", "unchanged", "foreign", "refused"]
PLURALS = {
    "Namespace": "namespaces",
    "ServiceAccount": "serviceaccounts",
    "ResourceFlavor": "resourceflavors",
    "ClusterQueue": "clusterqueues",
    "LocalQueue": "localqueues",
    "WorkloadPriorityClass": "workloadpriorityclasses",
    "ClusterRole": "clusterroles",
    "ClusterRoleBinding": "clusterrolebindings",
    "Role": "roles",
    "RoleBinding": "rolebindings",
}


@dataclass(frozen=True, slots=True)
class AppliedStep:
    """What is, or would be, done about one object."""

    kind: str
    name: str
    """With its namespace in front, if it has one."""
    step: Step
    detail: str = ""
    """Fields that differ, or the API server's words."""


async def apply(
    transport: Transport, manifests: Sequence[Manifest], *, dry_run: bool
) -> list[AppliedStep]:
    """Go through manifests in order; with `dry_run` the API server checks each and stores nothing.

    Raises:
        ClusterUnavailable: no answer.
    """
    steps = []
    coming: set[str] = set()
    for manifest in manifests:
        step = await _apply_one(transport, manifest, coming, dry_run=dry_run)
        if step.step == "create" and step.kind == "Namespace":
            coming.add(step.name)
        steps.append(step)
    return steps


async def _apply_one(
    transport: Transport, manifest: Manifest, coming: set[str], *, dry_run: bool
) -> AppliedStep:
    head = manifest["metadata"]
    namespace = head.get("namespace")
    kind = manifest["kind"]
    name = head["name"] if namespace is None else f"{namespace}/{head['name']}"
    present = await _present(transport, path_of(manifest))
    step: Step = "create"
    detail = ""
    if present is not None:
        if present["metadata"].get("labels", {}).get(MANAGED_BY) != OWNER and kind != "Namespace":
            return AppliedStep(kind, name, "foreign", "has not our label; left as it is")
        differing = list(differences(manifest, present))
        step, detail = ("change" if differing else "unchanged"), ", ".join(differing)
    if step == "unchanged":
        return AppliedStep(kind, name, step)
    if dry_run and namespace in coming:
        return AppliedStep(kind, name, step, "checked once its namespace is there")
    query = {"fieldManager": FIELD_MANAGER, "force": "true"}
    if dry_run:
        query["dryRun"] = "All"
    try:
        await transport.request("PATCH", path_of(manifest), query, manifest, APPLY)
    except ClusterRefused as error:
        return AppliedStep(kind, name, "refused", error.message)
    return AppliedStep(kind, name, step, detail)


def path_of(manifest: Manifest) -> str:
    """Return where the API keeps the object of a manifest."""
    version, head = manifest["apiVersion"], manifest["metadata"]
    root = f"/apis/{version}" if "/" in version else f"/api/{version}"
    place = f"/namespaces/{head['namespace']}" if "namespace" in head else ""
    return f"{root}{place}/{PLURALS[manifest['kind']]}/{head['name']}"


async def _present(transport: Transport, path: str) -> dict[str, Any] | None:
    try:
        answer = await transport.request("GET", path)
    except ClusterRefused as error:
        if error.status == 404:
            return None
        raise
    found: dict[str, Any] = json.loads(answer.body)
    return found


def differences(wanted: Any, present: Any, place: str = "") -> Iterator[str]:
    """Yield the fields of `wanted` that are not so in `present`; what only `present` has is no difference."""
    if isinstance(wanted, Mapping) and isinstance(present, Mapping):
        for name, value in wanted.items():
            inner = f"{place}.{name}" if place else str(name)
            yield from differences(value, present.get(name), inner)
    elif isinstance(wanted, list) and isinstance(present, list) and len(wanted) == len(present):
        for number, (one, other) in enumerate(zip(wanted, present, strict=True)):
            yield from differences(one, other, f"{place}[{number}]")
    elif wanted != present and not (wanted == {} and present is None):
        yield place
