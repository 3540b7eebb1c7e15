"""Facts for moving pods: whether another node has what they ask for, and how their StatefulSets are."""

from __future__ import annotations

from services.cluster import ClusterRefused, Transport
from services.executor.facts import Facts, WorkloadFacts
from services.executor.reading.marked_objects import MarkedPod
from services.executor.reading.object_facts import stateful_set_facts
from services.executor.reading.objects import ObjectReader
from services.kube_lists import list_decoder, read_list
from services.kube_objects import Node
from services.kube_workloads import Deployment
from services.node_selection import asks_for_nodes, may_run_on

STATEFUL_SETS = "/apis/apps/v1/namespaces/{}/statefulsets/{}"
_PODS = list_decoder(MarkedPod)
_NODES = list_decoder(Node)


async def add_moves(transport: Transport, facts: Facts) -> Facts:
    """Return facts of a node with what decides whether its pods may move.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    if facts.node is None:
        return facts
    confined = await _confined(transport, facts.node.name)
    names = {pod.workload for pod in facts.pods if "/StatefulSet/" in pod.workload}
    sets = [await _read_set_with_pods(transport, name) for name in sorted(names)]
    pods = tuple(
        pod.model_copy(update={"confined": True}) if pod.uid in confined else pod
        for pod in facts.pods
    )
    workloads = (*facts.workloads, *(one for one in sets if one is not None))
    return facts.model_copy(
        update={"pods": pods, "workloads": tuple(sorted(workloads, key=lambda one: one.id))}
    )


async def _read_set_with_pods(transport: Transport, workload: str) -> WorkloadFacts | None:
    """Return a StatefulSet; a pod that is ending is not ready, whatever the status still says."""
    found = await read_stateful_set(transport, workload)
    if found is None:
        return None
    path = f"/api/v1/namespaces/{found.namespace}/pods"
    pods = (await read_list(transport, path, _PODS)).items
    ready = sum(
        pod.workload() == workload and pod.ready and not pod.metadata.deletion_timestamp
        for pod in pods
    )
    return found.model_copy(update={"ready": min(found.ready, ready)})


async def read_stateful_set(transport: Transport, workload: str) -> WorkloadFacts | None:
    """Return a StatefulSet by its id; None when it is gone, or may not be read.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    namespace, _, name = workload.split("/")
    try:
        found = await ObjectReader(transport).get(STATEFUL_SETS.format(namespace, name), Deployment)
    except ClusterRefused as error:
        if error.status == 403:
            return None
        raise
    return None if found is None else stateful_set_facts(found)


async def _confined(transport: Transport, name: str) -> frozenset[str]:
    """Return the uids of a node's pods for which no other open node has what they ask for."""
    on_it = {"fieldSelector": f"spec.nodeName={name}"}
    listed = (await read_list(transport, "/api/v1/pods", _PODS, on_it)).items
    asking = [pod for pod in listed if asks_for_nodes(pod.spec)]
    if not asking:
        return frozenset()
    nodes = (await read_list(transport, "/api/v1/nodes", _NODES)).items
    others = [one for one in nodes if one.metadata.name != name and _is_open(one)]
    return frozenset(
        pod.metadata.uid
        for pod in asking
        if not any(may_run_on(pod.spec, other) for other in others)
    )


def _is_open(node: Node) -> bool:
    closed = any(taint.effect in {"NoSchedule", "NoExecute"} for taint in node.spec.taints)
    return node.ready and not node.spec.unschedulable and not closed
