"""Reads and writes of the exerciser; writes stay in its own namespace.

Creating is idempotent (an object that exists already is left as it is) and so is removing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inputs.quantities import cpu_text, memory_text, parse_cores, parse_whole
from services.cluster import ClusterRefused, Transport
from services.exerciser.plan import NodeLoad, PlannedLoad
from services.kube_lists import list_decoder, read_list
from services.kube_objects import CPU, FIELD_MANAGER, MEMORY, Node, Pod
from services.kube_workloads import Deployment
from services.pod_requests import effective_request
from services.protection import DO_NOT_DISRUPT, OWN_NAMESPACES, control_plane_mark

NAMESPACE = "foresail-exercise"
PART_OF = "app.kubernetes.io/part-of"
PART_OF_VALUE = "foresail-exerciser"
LOAD_LABEL = "foresail.dev/exercise-load"
NODE_ANNOTATION = "foresail.dev/exercise-node"
"""On a Deployment that may run on one node only: that node."""
SLOT_LABEL = "foresail.dev/exercise-slot"
SLOT_VALUE = "unavailable"
"""No node has this label's value, so pods that ask for it fit nowhere, on purpose."""
CAPPED_TAINT = "foresail.dev/capped"
HOSTNAME = "kubernetes.io/hostname"
POWER_STATE = "foresail.dev/power-state"
ON = "on"
AT_ONCE = 16
"""Writes in flight at a time."""

_NODES = list_decoder(Node)
_PODS = list_decoder(Pod)
_DEPLOYMENTS = list_decoder(Deployment)


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """Load of others on the cluster."""

    nodes: tuple[NodeLoad, ...]
    """Workers that are ready and on, sorted by name."""
    waiting_pods: int
    """Pods of others that wait for a node."""
    hostnames: Mapping[str, str]
    """Hostname label by node; nodes without one are absent."""


def deployments_path(namespace: str) -> str:
    """Return the path of a namespace's Deployments."""
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


async def read_load(transport: Transport, namespace: str = NAMESPACE) -> ClusterLoad:
    """Read nodes and the load of everybody but the exerciser, whose own is in `namespace`.

    Raises:
        ClusterUnavailable, ClusterRefused: the lists could not be read.
    """
    nodes = (await read_list(transport, "/api/v1/nodes", _NODES)).items
    pods = (await read_list(transport, "/api/v1/pods", _PODS)).items
    others = [pod for pod in pods if pod.metadata.namespace != namespace]
    by_node: dict[str, list[Pod]] = {}
    for pod in others:
        if not pod.finished:
            by_node.setdefault(pod.spec.node_name, []).append(pod)
    awake = [
        node
        for node in nodes
        if node.ready and _power_state(node) == ON and not _is_control_plane(node)
    ]
    loads = [_node_load(node, by_node.get(node.metadata.name, [])) for node in awake]
    labels = ((node.metadata.name, node.metadata.labels.get(HOSTNAME)) for node in awake)
    return ClusterLoad(
        nodes=tuple(sorted(loads, key=lambda load: load.name)),
        waiting_pods=sum(
            pod.metadata.namespace not in OWN_NAMESPACES for pod in by_node.get("", [])
        ),
        hostnames={name: hostname for name, hostname in labels if hostname},
    )


async def create_load(
    transport: Transport,
    loads: Sequence[PlannedLoad],
    image: str,
    hostnames: Mapping[str, str],
    namespace: str = NAMESPACE,
) -> None:
    """Create the namespace and the Deployments of a phase.

    Raises:
        ClusterUnavailable, ClusterRefused: some could not be created; those that were stay.
    """
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(namespace)}
    await _unless_there(transport, "/api/v1/namespaces", space)
    manifests = [load_manifest(load, image, hostnames) for load in loads]
    limit = asyncio.Semaphore(AT_ONCE)

    async def create(body: Mapping[str, Any]) -> None:
        async with limit:
            await _unless_there(transport, deployments_path(namespace), body)

    await asyncio.gather(*(create(body) for body in manifests))


async def remove_all(transport: Transport, namespace: str = NAMESPACE) -> int:
    """Remove every Deployment of the exerciser, with its pods; return how many there were.

    Raises:
        ClusterUnavailable, ClusterRefused: some could not be removed.
    """
    try:
        ours = {"labelSelector": f"{PART_OF}={PART_OF_VALUE}"}
        path = deployments_path(namespace)
        deployments = (await read_list(transport, path, _DEPLOYMENTS, ours)).items
    except ClusterRefused as error:
        if error.status == 404:
            return 0
        raise
    await _remove(transport, [deployment.metadata.name for deployment in deployments], namespace)
    return len(deployments)


async def remove_stranded(transport: Transport) -> int:
    """Remove load of nodes that fell asleep or were cordoned meanwhile; return how many there were.

    Its pods could start nowhere, and their waiting would be taken for a full queue.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read or written.
    """
    nodes = (await read_list(transport, "/api/v1/nodes", _NODES)).items
    usable = {
        node.metadata.name
        for node in nodes
        if node.ready and not node.spec.unschedulable and _power_state(node) == ON
    }
    deployments = (await read_list(transport, deployments_path(NAMESPACE), _DEPLOYMENTS)).items
    stranded = [
        deployment.metadata.name
        for deployment in deployments
        if deployment.metadata.annotations.get(NODE_ANNOTATION, "") not in {"", *usable}
        and deployment.status.ready_replicas < deployment.spec.replicas
    ]
    await _remove(transport, stranded, NAMESPACE)
    return len(stranded)


async def _remove(transport: Transport, names: Sequence[str], namespace: str) -> None:
    limit = asyncio.Semaphore(AT_ONCE)

    async def remove(name: str) -> None:
        async with limit:
            try:
                path = f"{deployments_path(namespace)}/{name}"
                await transport.request("DELETE", path, {"propagationPolicy": "Background"})
            except ClusterRefused as error:
                if error.status != 404:
                    raise

    await asyncio.gather(*(remove(name) for name in names))


def load_manifest(load: PlannedLoad, image: str, hostnames: Mapping[str, str]) -> dict[str, Any]:
    """Return the Deployment of one load."""
    labels = {PART_OF: PART_OF_VALUE, LOAD_LABEL: load.name}
    requests = {CPU: cpu_text(load.cpu_millicores), MEMORY: memory_text(load.memory_bytes)}
    pod: dict[str, Any] = {
        "containers": [{"name": "load", "image": image, "resources": {"requests": requests}}],
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"key": CAPPED_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
    }
    if load.anywhere:
        pod["topologySpreadConstraints"] = [_one_a_node(load.name)]
    elif not load.node:
        pod["nodeSelector"] = {SLOT_LABEL: SLOT_VALUE}
    elif load.node in hostnames:
        pod["nodeSelector"] = {HOSTNAME: hostnames[load.node]}
    else:
        pod["affinity"] = _node_affinity(load.node)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            **_metadata(load.name),
            "labels": labels,
            "annotations": _annotations(load),
        },
        "spec": {
            "replicas": load.replicas,
            "selector": {"matchLabels": {LOAD_LABEL: load.name}},
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def _annotations(load: PlannedLoad) -> dict[str, str]:
    annotations = {NODE_ANNOTATION: load.node} if load.node else {}
    if load.protected:
        annotations[DO_NOT_DISRUPT] = "true"
    return annotations


def _node_affinity(node: str) -> dict[str, Any]:
    field = {"key": "metadata.name", "operator": "In", "values": [node]}
    terms = {"nodeSelectorTerms": [{"matchFields": [field]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def _one_a_node(name: str) -> dict[str, Any]:
    """Return the constraint that spreads a load's pods over nodes, as evenly as there is room."""
    return {
        "maxSkew": 1,
        "topologyKey": HOSTNAME,
        "whenUnsatisfiable": "ScheduleAnyway",
        "labelSelector": {"matchLabels": {LOAD_LABEL: name}},
    }


def _metadata(name: str) -> dict[str, Any]:
    return {"name": name, "labels": {PART_OF: PART_OF_VALUE}}


def _is_control_plane(node: Node) -> bool:
    """Say whether a node runs the control plane, which is never put under practice load."""
    return bool(control_plane_mark(node.metadata.labels, (taint.key for taint in node.spec.taints)))


def _power_state(node: Node) -> str:
    return node.metadata.annotations.get(POWER_STATE, ON)


def _node_load(node: Node, pods: Iterable[Pod]) -> NodeLoad:
    living = list(pods)
    amounts = [effective_request(pod) for pod in living]
    judged = [pod for pod in living if pod.metadata.namespace not in OWN_NAMESPACES]
    return NodeLoad(
        name=node.metadata.name,
        schedulable=not node.spec.unschedulable,
        cpu_millicores=round(parse_cores(node.status.allocatable.get(CPU, "0")) * 1000),
        memory_bytes=parse_whole(node.status.allocatable.get(MEMORY, "0")),
        cpu_requested_millicores=sum(round(amount.cpu_cores * 1000) for amount in amounts),
        memory_requested_bytes=sum(amount.memory_bytes for amount in amounts),
        unhealthy_pods=sum(pod.unhealthy for pod in judged),
        restarted_pods=sum(pod.restarts > 0 for pod in judged),
    )


async def _unless_there(transport: Transport, path: str, body: Mapping[str, Any]) -> None:
    try:
        await transport.request("POST", path, {"fieldManager": FIELD_MANAGER}, body)
    except ClusterRefused as error:
        if error.status != 409:
            raise
