"""Reads what an operation would touch, just before it is planned for good and again before it is sent."""

from __future__ import annotations

import json
from typing import Any

from schemas.outcome import Mode, Operation, Verb
from services.cluster import Transport
from services.cluster_version import is_simulated
from services.executor.reach import Marked, Reach, ReachedNode, ReachedPod, Scope, scope_of
from services.executor.reading.field_owners import WITHOUT_FIELDS, OwnedObject, applied_fields
from services.executor.reading.marked_objects import (
    MarkedAutoscaler,
    MarkedMeta,
    MarkedNode,
    MarkedPod,
    MarkedWorkload,
    NodeClaim,
    WorkloadSpec,
)
from services.executor.reading.objects import ObjectReader, object_path
from services.executor.settings import ExecutorSettings
from services.kube_lists import list_decoder, read_list
from services.rights.executor import AUTOSCALERS, NODE_CLAIMS, WRITTEN

KINDS = {"deployments": "Deployment", "jobs": "Job"}
_PODS = list_decoder(MarkedPod)


async def read_scope(transport: Transport, settings: ExecutorSettings, mode: Mode) -> Scope:
    """Return what may be written now; only where that depends on it, ask which cluster this is.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster does not say what it is.
    """
    matters = settings.namespaces is None and mode is Mode.ACTIVE
    simulated = matters and await is_simulated(transport)
    return scope_of(settings, mode, simulated=simulated)


async def read_reach(transport: Transport, operation: Operation, scope: Scope) -> Reach:
    """Return what one operation would touch; an object that is gone touches nothing.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    reader = ObjectReader(transport)
    reach = await _read_reach(transport, reader, operation, scope)
    if operation.verb in WITHOUT_FIELDS or operation.resource not in WRITTEN:
        return reach
    found = await reader.get(object_path(operation), OwnedObject)
    applied = () if found is None else applied_fields(found, operation)
    return reach.model_copy(update={"applied": applied})


async def _read_reach(
    transport: Transport, reader: ObjectReader, operation: Operation, scope: Scope
) -> Reach:
    bare = Reach(resource=operation.resource, namespace=operation.namespace, name=operation.name)
    match operation.resource:
        case "resourcequotas":
            space = MarkedMeta(name=bare.name, namespace=bare.namespace)
            marked = await reader.protecting_mark(f"resourcequota {bare.name}", space)
            return bare.model_copy(update={"marked": marked})
        case "nodeclaims":
            return await _read_node_claim(transport, reader, bare, scope)
        case "nodes":
            return await _read_node(transport, reader, bare, scope)
        case "pods":
            pod = await reader.get(object_path(operation), MarkedPod)
            return bare if pod is None else await _with_pods(reader, bare, [pod])
        case "deployments" | "jobs":
            return await _read_workload(transport, reader, bare, operation)
        case _ if operation.resource == AUTOSCALERS:
            return await _read_autoscaler(transport, reader, bare, operation)
    return bare


async def _read_node(
    transport: Transport, reader: ObjectReader, bare: Reach, scope: Scope
) -> Reach:
    """Read a node, and what runs on it where that matters: where namespaces are named."""
    node = await reader.get(f"/api/v1/nodes/{bare.name}", MarkedNode)
    if node is None:
        return bare
    reach = bare.model_copy(update={"nodes": (_reach_node(node, written=True),)})
    if scope.everything:
        return reach
    on_it = {"fieldSelector": f"spec.nodeName={bare.name}"}
    listed = (await read_list(transport, "/api/v1/pods", _PODS, on_it)).items
    pods = [await _reach_pod(reader, pod, removed=False) for pod in listed if not pod.finished]
    return reach.model_copy(update={"pods": tuple(pods)})


async def _read_node_claim(
    transport: Transport, reader: ObjectReader, bare: Reach, scope: Scope
) -> Reach:
    """Read a claim: deleting it ends its node, which counts as written, with what runs there."""
    claim = await reader.get(f"{WRITTEN[NODE_CLAIMS]}/{NODE_CLAIMS}/{bare.name}", NodeClaim)
    if claim is None:
        return bare
    marked = await reader.protecting_mark(f"nodeclaim {bare.name}", claim.metadata)
    node = bare.model_copy(update={"resource": "nodes", "name": claim.status.node_name})
    below = await _read_node(transport, reader, node, scope)
    return bare.model_copy(update={"marked": marked, "nodes": below.nodes, "pods": below.pods})


async def _read_workload(
    transport: Transport, reader: ObjectReader, bare: Reach, operation: Operation
) -> Reach:
    workload = await reader.get(object_path(operation), MarkedWorkload)
    if workload is None:
        return bare
    kind = KINDS[bare.resource]
    marked = await reader.protecting_mark(f"{kind.lower()} {bare.name}", workload.metadata)
    reach = bare.model_copy(update={"marked": marked})
    if not removes_pods(operation, workload.spec):
        return reach
    return await _with_pods_of(transport, reader, reach, f"{bare.namespace}/{kind}/{bare.name}")


async def _read_autoscaler(
    transport: Transport, reader: ObjectReader, bare: Reach, operation: Operation
) -> Reach:
    """Read an autoscaler and the Deployment that it scales: whoever protects one protects both."""
    autoscaler = await reader.get(object_path(operation), MarkedAutoscaler)
    if autoscaler is None:
        return bare
    what = f"horizontalpodautoscaler {bare.name}"
    marked = await reader.protecting_mark(what, autoscaler.metadata)
    target = autoscaler.spec.scale_target_ref
    if target.kind != "Deployment":
        other = Marked(what=what, mark=f"it scales a {target.kind or 'nameless kind'}")
        return bare.model_copy(update={"marked": (*marked, other)})
    path = f"{WRITTEN['deployments']}/namespaces/{bare.namespace}/deployments/{target.name}"
    deployment = await reader.get(path, MarkedWorkload)
    if deployment is not None:
        marked += await reader.protecting_mark(f"deployment {target.name}", deployment.metadata)
    reach = bare.model_copy(update={"marked": tuple(dict.fromkeys(marked))})
    spec: dict[str, Any] = json.loads(operation.patch or "{}").get("spec") or {}
    least = spec.get("minReplicas", autoscaler.spec.min_replicas)
    harmless = not set(spec) - {"minReplicas"} and isinstance(least, int)
    if harmless and least >= autoscaler.spec.min_replicas:
        return reach
    return await _with_pods_of(
        transport, reader, reach, f"{bare.namespace}/Deployment/{target.name}"
    )


async def _with_pods_of(
    transport: Transport, reader: ObjectReader, reach: Reach, workload_id: str
) -> Reach:
    """Return a reach with the pods of a workload as those to be removed."""
    listed = await read_list(transport, f"/api/v1/namespaces/{reach.namespace}/pods", _PODS)
    own = [item for item in listed.items if item.workload() == workload_id and not item.finished]
    return await _with_pods(reader, reach, own)


async def _with_pods(reader: ObjectReader, reach: Reach, pods: list[MarkedPod]) -> Reach:
    """Return a reach with pods to be removed and the nodes that they run on."""
    read = tuple([await _reach_pod(reader, pod, removed=True) for pod in pods])
    names = dict.fromkeys(pod.spec.node_name for pod in pods if pod.spec.node_name)
    nodes = [await reader.get(f"/api/v1/nodes/{name}", MarkedNode) for name in names]
    under = tuple(_reach_node(node, written=False) for node in nodes if node is not None)
    return reach.model_copy(update={"pods": read, "nodes": under})


async def _reach_pod(reader: ObjectReader, pod: MarkedPod, *, removed: bool) -> ReachedPod:
    touched = removed or not (pod.daemon or pod.static)
    marked = (
        await reader.protecting_mark(f"pod {pod.metadata.name}", pod.metadata) if touched else ()
    )
    return ReachedPod(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        daemon=pod.daemon,
        static=pod.static,
        removed=removed,
        marked=marked,
    )


def _reach_node(node: MarkedNode, *, written: bool) -> ReachedNode:
    return ReachedNode(
        name=node.metadata.name,
        written=written,
        labels=node.metadata.labels,
        control_plane=node.control_plane,
        mark=node.metadata.mark,
    )


def removes_pods(operation: Operation, now: WorkloadSpec) -> bool:
    """Say whether writing a workload can end pods of it; a field that is not known to be harmless can."""
    if operation.verb is Verb.SCALE:
        return (operation.replicas or 0) < now.replicas
    if operation.verb is not Verb.PATCH:
        return True
    spec: dict[str, Any] = json.loads(operation.patch).get("spec") or {}
    replicas, suspend = spec.get("replicas", now.replicas), spec.get("suspend", now.suspend)
    other = set(spec) - {"replicas", "suspend"}
    fewer = not isinstance(replicas, int) or replicas < now.replicas
    return bool(other) or fewer or (bool(suspend) and not now.suspend)
