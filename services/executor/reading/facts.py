"""Reads what the plan of an action looks at: of a node, of the queue, or of a workload."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.actions import Action, ResizeAction, TargetKind
from services.cluster import ClusterRefused, Transport
from services.executor.facts import Facts, PodFacts, QuotaHeadroom, WorkloadFacts
from services.executor.plans.scale_ups import added_pods
from services.executor.reading.marked_objects import MarkedPod, PodTemplate, TemplatedDeployment
from services.executor.reading.object_facts import (
    autoscaler_facts,
    deployment_facts,
    job_facts,
    node_facts,
    pod_facts,
)
from services.executor.reading.objects import ObjectReader
from services.executor.reading.quotas import Quota, room_for
from services.held import HELD
from services.kube_budgets import PATH as BUDGETS_PATH
from services.kube_budgets import PodDisruptionBudget
from services.kube_lists import list_decoder, read_list
from services.kube_objects import Meta, Node
from services.kube_workloads import Autoscaler, Deployment, Job
from services.rights.executor import AUTOSCALERS, WRITTEN

_PODS = list_decoder(MarkedPod)
_NODES = list_decoder(Node)
_DEPLOYMENTS = list_decoder(Deployment)
_JOBS = list_decoder(Job)
_AUTOSCALERS = list_decoder(Autoscaler)
_QUOTAS = list_decoder(Quota)
_BUDGETS = list_decoder(PodDisruptionBudget)


async def read_facts(transport: Transport, action: Action) -> Facts:
    """Read what a plan for this action may look at.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    if action.target.kind is TargetKind.NODE:
        return await _read_node_facts(transport, action.target.name)
    if action.target.kind is TargetKind.QUEUE:
        return await _read_queue_facts(transport)
    if isinstance(action, ResizeAction):
        return await _read_workload_pods(transport, action.target.name)
    if action.target.kind is TargetKind.WORKLOAD:
        return await _read_workload_facts(transport, action.target.name)
    return Facts(time_seconds=0.0)


async def _read_node_facts(transport: Transport, name: str) -> Facts:
    nodes = await read_list(
        transport, "/api/v1/nodes", _NODES, {"fieldSelector": f"metadata.name={name}"}
    )
    listed = await read_list(
        transport, "/api/v1/pods", _PODS, {"fieldSelector": f"spec.nodeName={name}"}
    )
    budgets = await _read_budgets(transport)
    pods = [
        pod_facts(pod, budgets)
        for pod in listed.items
        if not pod.finished and not pod.metadata.deletion_timestamp
    ]
    workload_ids = {pod.workload for pod in pods}
    workloads = [
        workload for workload in await _read_workloads(transport, ()) if workload.id in workload_ids
    ]
    node = next(iter(nodes.items), None)
    return Facts(
        time_seconds=listed.cluster_time_seconds,
        node=None if node is None else node_facts(node),
        pods=tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name))),
        workloads=tuple(workloads),
    )


async def _read_budgets(transport: Transport) -> tuple[PodDisruptionBudget, ...]:
    """Return the PodDisruptionBudgets; none where they may not be read: the API server keeps them anyway."""
    try:
        return (await read_list(transport, BUDGETS_PATH, _BUDGETS)).items
    except ClusterRefused as error:
        if error.status in {403, 404}:
            return ()
        raise


async def _read_queue_facts(transport: Transport) -> Facts:
    listed = await read_list(
        transport, "/api/v1/pods", _PODS, {"fieldSelector": "status.phase=Pending"}
    )
    pods = [pod_facts(pod) for pod in listed.items if not pod.spec.node_name]
    waiting = {pod.workload for pod in pods}
    workloads = [
        workload
        for workload in await _read_workloads(transport, pods)
        if workload.id in waiting or HELD in workload.annotations
    ]
    return Facts(
        time_seconds=listed.cluster_time_seconds,
        pods=tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name))),
        workloads=tuple(workloads),
    )


async def _read_workload_facts(transport: Transport, workload_id: str) -> Facts:
    """Read a Deployment, what scales it, its namespace's quotas, and what we raised elsewhere."""
    listed = await read_list(transport, "/apis/apps/v1/deployments", _DEPLOYMENTS)
    found = next(
        (one for one in listed.items if deployment_facts(one).id == workload_id),
        None,
    )
    if found is None:
        return Facts(time_seconds=listed.cluster_time_seconds)
    autoscalers = await _read_autoscalers(transport)
    own = [autoscaler for autoscaler in autoscalers if _scales(autoscaler, found.metadata)]
    scaling = min(own, key=lambda autoscaler: autoscaler.metadata.name, default=None)
    template = await _read_pod_template(transport, found.metadata)
    workload = deployment_facts(found)
    if template.metadata.mark:  # what is added could not be given back
        workload = workload.model_copy(update={"protected": True})
    others = [
        added_pods(one.metadata.annotations, one.spec.replicas)
        for one in listed.items
        if one is not found
    ]
    return Facts(
        time_seconds=listed.cluster_time_seconds,
        workloads=(workload,),
        autoscaler=None if scaling is None else autoscaler_facts(scaling),
        quota_room=await _read_quota_room(transport, workload.namespace, template),
        other_added_pods=sum(others),
    )


async def _read_workload_pods(transport: Transport, workload_id: str) -> Facts:
    """Read the running pods of a workload of any kind, and what scales it."""
    namespace, kind, name = workload_id.split("/")
    path = f"/api/v1/namespaces/{namespace}/pods"
    listed = await read_list(transport, path, _PODS, {"fieldSelector": "status.phase=Running"})
    pods = [
        pod_facts(pod)
        for pod in listed.items
        if pod.workload() == workload_id and not pod.metadata.deletion_timestamp
    ]
    scaling = next(
        (
            one
            for one in await _read_autoscalers(transport)
            if one.metadata.namespace == namespace
            and (one.spec.scale_target_ref.kind, one.spec.scale_target_ref.name) == (kind, name)
        ),
        None,
    )
    return Facts(
        time_seconds=listed.cluster_time_seconds,
        pods=tuple(sorted(pods, key=lambda pod: pod.name)),
        autoscaler=None if scaling is None else autoscaler_facts(scaling),
    )


async def _read_autoscalers(transport: Transport) -> tuple[Autoscaler, ...]:
    try:
        return (
            await read_list(transport, f"{WRITTEN[AUTOSCALERS]}/{AUTOSCALERS}", _AUTOSCALERS)
        ).items
    except ClusterRefused as error:
        if error.status == 404:  # not served: nobody scales anything
            return ()
        raise


def _scales(autoscaler: Autoscaler, deployment: Meta) -> bool:
    target = autoscaler.spec.scale_target_ref
    same_namespace = autoscaler.metadata.namespace == deployment.namespace
    return same_namespace and (target.kind, target.name) == ("Deployment", deployment.name)


async def _read_pod_template(transport: Transport, deployment: Meta) -> PodTemplate:
    """Return what the pods of a Deployment are made after; an empty one when it is gone meanwhile."""
    path = (
        f"{WRITTEN['deployments']}/namespaces/{deployment.namespace}/deployments/{deployment.name}"
    )
    found = await ObjectReader(transport).get(path, TemplatedDeployment)
    return PodTemplate() if found is None else found.spec.template


async def _read_quota_room(
    transport: Transport, namespace: str, template: PodTemplate
) -> QuotaHeadroom | None:
    """Return what the quotas leave; None also where they may not be read: the API server holds them anyway."""
    path = f"/api/v1/namespaces/{namespace}/resourcequotas"
    try:
        quotas = (await read_list(transport, path, _QUOTAS)).items
        return room_for(template.spec, quotas)
    except ClusterRefused as error:
        if error.status in {403, 404}:
            return None
        raise
    except ValueError as error:
        raise ClusterRefused(200, "Unreadable", f"quotas of {namespace}: {error}") from error


async def _read_workloads(transport: Transport, pending: Iterable[PodFacts]) -> list[WorkloadFacts]:
    counts: dict[str, int] = {}
    priorities: dict[str, int] = {}
    for pod in pending:
        counts[pod.workload] = counts.get(pod.workload, 0) + 1
        priorities[pod.workload] = max(priorities.get(pod.workload, pod.priority), pod.priority)
    deployments = (await read_list(transport, "/apis/apps/v1/deployments", _DEPLOYMENTS)).items
    jobs = (await read_list(transport, "/apis/batch/v1/jobs", _JOBS)).items
    workloads = [*map(deployment_facts, deployments), *map(job_facts, jobs)]
    filled = [
        workload.model_copy(
            update={"pending_pods": counts[workload.id], "priority": priorities[workload.id]}
        )
        if workload.id in counts
        else workload
        for workload in workloads
    ]
    return sorted(filled, key=lambda one: one.id)
