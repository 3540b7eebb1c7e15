"""`foresail explain pod|workload NAME --why-not start`: what it waits for, by lists alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bus.errors import InputError
from foresail.near import full_name
from lab.explanations.frozen_cluster import Object
from lab.explanations.reading import CORE, list_objects
from lab.explanations.waits import Surroundings
from lab.explanations.why_not_started import (
    WhyNotStarted,
    why_pod_not_started,
    why_workload_not_started,
)
from lab.explanations.workload_waits import Workload
from projections.objects.names import ObjectKind
from services.cluster import ClusterRefused, Transport

APPS = "/apis/apps/v1"
WORKLOADS: Mapping[str, tuple[str, str]] = {
    "Deployment": (APPS, "deployments"),
    "ReplicaSet": (APPS, "replicasets"),
    "StatefulSet": (APPS, "statefulsets"),
    "DaemonSet": (APPS, "daemonsets"),
    "Job": ("/apis/batch/v1", "jobs"),
}
"""Group and resource of each kind that makes pods."""


async def explain_starting(transport: Transport, name: str, kind: ObjectKind) -> WhyNotStarted:
    """Read a pod or a workload with what is around it, and answer.

    Raises:
        InputError: there is no such object, or several.
        ClusterUnavailable: no answer.
        ClusterRefused: pods or workloads may not be listed.
    """
    if kind is ObjectKind.POD:
        return await _explain_pod(transport, name)
    return await _explain_workload(transport, name)


async def _explain_pod(transport: Transport, name: str) -> WhyNotStarted:
    pods, now = await list_objects(transport, f"{CORE}/pods")
    known = {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": pod for pod in pods}
    pod = known[full_name(name, known, "pod")]
    namespace = pod["metadata"]["namespace"]
    missing: dict[str, str] = {}
    owners = await _workloads(transport, namespace, missing)
    around = await _around(transport, namespace, [pod], owners, missing, now)
    return why_pod_not_started(pod, around, missing)


async def _explain_workload(transport: Transport, name: str) -> WhyNotStarted:
    missing: dict[str, str] = {}
    found = await _workloads(transport, "", missing)
    if missing:  # a name cannot be looked up in lists that are not there
        raise ClusterRefused(403, "Forbidden", next(iter(missing.values())))
    known = {_full_name(obj): obj for obj in found if not _has_workload_above(obj, found)}
    obj = known[_meant(name, known)]
    namespace = obj["metadata"]["namespace"]
    sets = [one for one in found if _controller_uid(one) == obj["metadata"]["uid"]]
    makers = {obj["metadata"]["uid"], *(one["metadata"]["uid"] for one in sets)}
    pods, now = await list_objects(transport, f"{CORE}/namespaces/{namespace}/pods")
    own = [pod for pod in pods if _controller_uid(pod) in makers]
    near = [one for one in found if one["metadata"]["namespace"] == namespace]
    around = await _around(transport, namespace, own, near, missing, now)
    return why_workload_not_started(Workload(obj, own, sets), around, missing)


def _meant(name: str, known: Mapping[str, Object]) -> str:
    """Return the full name that is meant: `namespace/Kind/name`, or any end of it that one alone has."""
    ending = [full for full in known if full == name or full.endswith(f"/{name}")]
    if not ending and name.count("/") == 1:  # namespace/name, as of a pod
        namespace, _, short = name.partition("/")
        ending = [
            full
            for full in known
            if full.startswith(f"{namespace}/") and full.endswith(f"/{short}")
        ]
    if len(ending) == 1:
        return ending[0]
    if ending:
        raise InputError("NAME", name, f"say which workload: {', '.join(sorted(ending))}")
    names = {"{0}/{2}".format(*full.split("/")) for full in known}
    return full_name(name, names, "workload")


async def _workloads(transport: Transport, namespace: str, missing: dict[str, str]) -> list[Object]:
    """Return the workloads of a namespace, or of all; each with its kind. What may not be read is noted."""
    found: list[Object] = []
    inside = f"/namespaces/{namespace}" if namespace else ""
    for kind, (group, resource) in WORKLOADS.items():
        listed = await _list(transport, f"{group}{inside}/{resource}", resource, missing)
        found += ({"kind": kind, **one} for one in listed)
    return found


async def _around(
    transport: Transport,
    namespace: str,
    pods: Sequence[Object],
    owners: Sequence[Object],
    missing: dict[str, str],
    now: float,
) -> Surroundings:
    inside = f"{CORE}/namespaces/{namespace}"
    events = await _list(transport, f"{inside}/events", "events", missing)
    claims = await _list(
        transport, f"{inside}/persistentvolumeclaims", "persistentvolumeclaims", missing
    )
    quotas = await _list(transport, f"{inside}/resourcequotas", "resourcequotas", missing)
    on = {pod["spec"]["nodeName"] for pod in pods if pod["spec"].get("nodeName")}
    nodes = await _list(transport, f"{CORE}/nodes", "nodes", missing)
    return Surroundings(
        now_seconds=now,
        claims_read="persistentvolumeclaims" not in missing,
        nodes_read="nodes" not in missing,
        events=events,
        claims=claims,
        nodes=[node for node in nodes if node["metadata"]["name"] in on],
        quotas=quotas,
        owners=owners,
    )


async def _list(
    transport: Transport, path: str, resource: str, missing: dict[str, str]
) -> list[Object]:
    try:
        found, _ = await list_objects(transport, path)
    except ClusterRefused as error:
        missing[resource] = error.message
        return []
    return found


def _has_workload_above(obj: Object, found: Sequence[Object]) -> bool:
    uid = _controller_uid(obj)
    return uid is not None and any(one["metadata"]["uid"] == uid for one in found)


def _controller_uid(obj: Object) -> str | None:
    for reference in obj["metadata"].get("ownerReferences") or ():
        if reference.get("controller"):
            return str(reference["uid"])
    return None


def _full_name(obj: Object) -> str:
    metadata = obj["metadata"]
    return f"{metadata['namespace']}/{obj['kind']}/{metadata['name']}"
