"""`foresail explain pod NAME --why-not schedule`: what each node says to a pod, from a live cluster's lists."""

from __future__ import annotations

from foresail.near import full_name
from lab.explanations.frozen_cluster import FrozenCluster, Object
from lab.explanations.reading import CORE, list_objects, read_objects
from lab.explanations.why_not_scheduled import WhyNotScheduled, why_not_scheduled
from services.cluster import ClusterRefused, Transport
from twin.records import PodRecord


async def explain_scheduling_of(transport: Transport, name: str) -> WhyNotScheduled:
    """Read a cluster and explain why one pod is on no node.

    Raises:
        InputError: there is no such pod, or several.
        ClusterUnavailable: no answer.
        ClusterRefused: nodes or pods may not be listed.
    """
    read = await read_objects(transport)
    cluster = FrozenCluster(read.objects, read.to_seconds)
    pods = {f"{pod.namespace}/{pod.name}": pod for pod in cluster.world.pods.values()}
    pod = pods[full_name(name, pods, "pod")]
    events = await _events(transport, pod)
    return why_not_scheduled(
        cluster, pod, read.to_seconds, events=events, missing=tuple(read.missing)
    )


async def _events(transport: Transport, pod: PodRecord) -> list[Object]:
    """Return what the scheduler said about a pod; where events may not be read, nothing."""
    fields = f"involvedObject.name={pod.name},reason=FailedScheduling"
    path = f"{CORE}/namespaces/{pod.namespace}/events"
    try:
        events, _ = await list_objects(transport, path, {"fieldSelector": fields})
    except ClusterRefused:
        return []
    return events
