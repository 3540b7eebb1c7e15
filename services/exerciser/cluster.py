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
from services.named_objects import NamedObject
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
_OBJECTS = list_decoder(NamedObject)


@dataclass(frozen=True, slots=True)
class ClusterLoad:
    """Load of others on the cluster."""

    nodes: tuple[NodeLoad, ...]
    """Workers that are ready and on, sorted by name."""
    waiting_pods: int
    """Pods of others that wait for a node."""
    hostnames: Mapping[str, str]
    """Hostname label by node; nodes without one are absent."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Labels of the exerciser's objects."""

    part_of: str = PART_OF_VALUE
    """Value of `app.kubernetes.io/part-of`."""
    slot: str = SLOT_LABEL
    """Key of the node label that pods ask for which are to fit nowhere."""


FORESAIL_MARKS = Marks()
MARKS: Mapping[str, Marks] = {
    "foresail": FORESAIL_MARKS,
    "borg-orchestrator": Marks("borg-orchestrator-exerciser", "borg-orchestrator/exercise-slot"),
}
"""By whose names they are: ours, or those of the first predecessor."""


def deployments_path(namespace: str) -> str:
    """Return the path of a namespace's Deployments."""
    return f"/apis/apps/v1/namespaces/{namespace}/deployments"


def jobs_path(namespace: str) -> str:
    """Return the path of a namespace's Jobs."""
    return f"/apis/batch/v1/namespaces/{namespace}/jobs"


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
    marks: Marks = FORESAIL_MARKS,
) -> None:
    """Create the namespace and the objects of a phase.

    Raises:
        ClusterUnavailable, ClusterRefused: some could not be created; those that were stay.
    """
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": _metadata(namespace, marks)}
    await _unless_there(transport, "/api/v1/namespaces", space)
    paths = {"Deployment": deployments_path(namespace), "Job": jobs_path(namespace)}
    limit = asyncio.Semaphore(AT_ONCE)

    async def create(load: PlannedLoad) -> None:
        async with limit:
            body = load_manifest(load, image, hostnames, marks)
            await _unless_there(transport, paths[load.kind], body)

    await asyncio.gather(*(create(load) for load in loads))


async def remove_all(
    transport: Transport, namespace: str = NAMESPACE, marks: Marks = FORESAIL_MARKS
) -> int:
    """Remove every Deployment and Job of the exerciser, with its pods; return how many there were.

    Raises:
        ClusterUnavailable, ClusterRefused: some could not be removed.
    """
    paths = await _own_paths(transport, namespace, marks)
    await _remove(transport, paths)
    return len(paths)


async def rollout_text(
    transport: Transport, namespace: str = NAMESPACE, marks: Marks = FORESAIL_MARKS
) -> str:
    """Return how many of the replicas that the exerciser's Deployments want are ready.

    Raises:
        ClusterUnavailable, ClusterRefused: they could not be read.
    """
    path = deployments_path(namespace)
    found = (await read_list(transport, path, _DEPLOYMENTS, _selector(marks))).items
    wanted = sum(one.spec.replicas for one in found)
    return f"{sum(one.status.ready_replicas for one in found)} of {wanted} replicas ready"


async def _own_paths(transport: Transport, namespace: str, marks: Marks) -> list[str]:
    """Return the paths of the exerciser's objects; none where there is no such namespace or API."""
    found: list[str] = []
    for path in (deployments_path(namespace), jobs_path(namespace)):
        try:
            items = (await read_list(transport, path, _OBJECTS, _selector(marks))).items
        except ClusterRefused as error:
            if error.status != 404:
                raise
            continue
        found += [f"{path}/{item.metadata.name}" for item in items]
    return found


def _selector(marks: Marks) -> dict[str, str]:
    return {"labelSelector": f"{PART_OF}={marks.part_of}"}


async def remove_stranded(
    transport: Transport, namespace: str = NAMESPACE, marks: Marks = FORESAIL_MARKS
) -> int:
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
    path = deployments_path(namespace)
    deployments = (await read_list(transport, path, _DEPLOYMENTS, _selector(marks))).items
    stranded = [
        f"{path}/{deployment.metadata.name}"
        for deployment in deployments
        if deployment.metadata.annotations.get(NODE_ANNOTATION, "") not in {"", *usable}
        and deployment.status.ready_replicas < deployment.spec.replicas
    ]
    await _remove(transport, stranded)
    return len(stranded)


async def _remove(transport: Transport, paths: Sequence[str]) -> None:
    limit = asyncio.Semaphore(AT_ONCE)

    async def remove(path: str) -> None:
        async with limit:
            try:
                await transport.request("DELETE", path, {"propagationPolicy": "Background"})
            except ClusterRefused as error:
                if error.status != 404:
                    raise

    await asyncio.gather(*(remove(path) for path in paths))


def load_manifest(
    load: PlannedLoad,
    image: str,
    hostnames: Mapping[str, str],
    marks: Marks = FORESAIL_MARKS,
) -> dict[str, Any]:
    """Return the Deployment or Job of one load."""
    labels = {PART_OF: marks.part_of, LOAD_LABEL: load.name}
    metadata = {
        **_metadata(load.name, marks),
        "labels": labels,
        "annotations": _annotations(load),
    }
    template = {"metadata": {"labels": labels}, "spec": _pod_spec(load, image, hostnames, marks)}
    if load.kind == "Job":
        template["spec"]["restartPolicy"] = "Never"
        amounts = {"parallelism": load.replicas, "completions": load.replicas}
        spec = {**amounts, "template": template}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
    spec = {
        "replicas": load.replicas,
        "selector": {"matchLabels": {LOAD_LABEL: load.name}},
        "template": template,
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def _pod_spec(
    load: PlannedLoad, image: str, hostnames: Mapping[str, str], marks: Marks
) -> dict[str, Any]:
    requests = {CPU: cpu_text(load.cpu_millicores), MEMORY: memory_text(load.memory_bytes)}
    container: dict[str, Any] = {
        "name": "load",
        "image": image,
        "resources": {"requests": requests},
    }
    if load.fixed_memory:
        policy = {"resourceName": MEMORY, "restartPolicy": "RestartContainer"}
        container["resizePolicy"] = [policy]
    pod: dict[str, Any] = {
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
        "tolerations": [{"key": CAPPED_TAINT, "operator": "Exists", "effect": "NoSchedule"}],
    }
    if load.anywhere:
        pod["topologySpreadConstraints"] = [_one_a_node(load.name)]
    elif load.movable:
        pod["affinity"] = _node_preference(hostnames.get(load.node, load.node))
    elif not load.node:
        pod["nodeSelector"] = {marks.slot: SLOT_VALUE}
    elif load.node in hostnames:
        pod["nodeSelector"] = {HOSTNAME: hostnames[load.node]}
    else:
        pod["affinity"] = _node_affinity(load.node)
    return pod


def _node_preference(hostname: str) -> dict[str, Any]:
    """Return the strongest wish for a node that an eviction may still override."""
    expression = {"key": HOSTNAME, "operator": "In", "values": [hostname]}
    term = {"weight": 100, "preference": {"matchExpressions": [expression]}}
    return {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}


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


def _metadata(name: str, marks: Marks) -> dict[str, Any]:
    return {"name": name, "labels": {PART_OF: marks.part_of}}


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
        pods=sum("/DaemonSet/" not in pod.workload() for pod in living),
    )


async def _unless_there(transport: Transport, path: str, body: Mapping[str, Any]) -> None:
    try:
        await transport.request("POST", path, {"fieldManager": FIELD_MANAGER}, body)
    except ClusterRefused as error:
        if error.status != 409:
            raise
