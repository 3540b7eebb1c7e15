"""Reading what became of the workloads that an execution moves or scales."""

from __future__ import annotations

import math
from collections.abc import Iterable

from schemas.outcome import Mode, Verb
from services.cluster import Transport
from services.executor.ledger import Execution
from services.executor.plans.resizing import out_of_memory_ends, resize_trouble
from services.executor.reading.marked_objects import MarkedPod
from services.executor.reading.moves import read_stateful_set
from services.executor.reading.objects import read_object
from services.executor.verification.harm import WAITS_FOR_PODS, AffectedPods
from services.kube_lists import list_decoder, read_list
from services.kube_objects import parse_time
from services.kube_workloads import Deployment

_PODS = list_decoder(MarkedPod)
_DEPLOYMENTS = list_decoder(Deployment)
_PENDING = {"fieldSelector": "status.phase=Pending"}


async def read_affected(transport: Transport, execution: Execution) -> AffectedPods:
    """Return what the API shows of an execution's workloads; nothing for kinds that make no new pods.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    if execution.mode is Mode.SHADOW:
        return AffectedPods()
    if execution.action.kind not in WAITS_FOR_PODS:
        return AffectedPods(
            missing_replicas=await _read_missing_replicas(transport, execution.missing_replicas),
            troubles=await _read_troubles(transport, execution),
        )
    waiting = await _read_waiting_pods(transport, execution)
    missing = await _read_missing_replicas(transport, execution.missing_replicas)
    return AffectedPods(waiting, missing)


async def _read_troubles(transport: Transport, execution: Execution) -> tuple[str, ...] | None:
    """Return what went wrong with the pods that an execution resized; None where it resized none."""
    resizes = [one for one in execution.operations if one.verb is Verb.RESIZE]
    since_seconds = math.floor(execution.time_seconds)  # the API dates ends by whole seconds
    troubles = []
    for operation in resizes:
        pod = await read_object(transport, operation)
        if pod is None or pod["metadata"].get("uid") != operation.uid:
            continue
        ends = {name: parse_time(end) for name, end in out_of_memory_ends(pod).items()}
        if trouble := resize_trouble(pod, since_seconds, ends):
            troubles.append(trouble)
    return tuple(troubles) if resizes else None


async def _read_waiting_pods(transport: Transport, execution: Execution) -> tuple[str, ...]:
    """Return pods without a node that were made since the execution, by name."""
    since_seconds = math.floor(execution.time_seconds)  # the API dates pods by whole seconds
    listed = await read_list(transport, "/api/v1/pods", _PODS, _PENDING)
    return tuple(
        sorted(
            f"{pod.metadata.namespace}/{pod.metadata.name}"
            for pod in listed.items
            if not pod.spec.node_name
            and pod.workload() in execution.workloads
            and pod.metadata.creation_timestamp
            and parse_time(pod.metadata.creation_timestamp) >= since_seconds
        )
    )


async def _read_missing_replicas(transport: Transport, names: Iterable[str]) -> dict[str, int]:
    """Return the replicas that workloads want and do not have ready; those that are gone want none."""
    wanted = set(names)
    if not wanted:
        return {}
    deployments = (await read_list(transport, "/apis/apps/v1/deployments", _DEPLOYMENTS)).items
    missing = {
        f"{one.metadata.namespace}/Deployment/{one.metadata.name}": one.spec.replicas
        - one.status.ready_replicas
        for one in deployments
    }
    for name in sorted(wanted):
        if "/StatefulSet/" in name and (found := await read_stateful_set(transport, name)):
            missing[name] = found.replicas - found.ready
    return {name: max(0, missing[name]) for name in sorted(wanted) if name in missing}
