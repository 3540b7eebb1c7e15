"""What the executor reads from and writes to the cluster.

Reading gives plain facts for the planner. Writing applies one operation with its preconditions
(UID, resourceVersion) and says what the API server answered; in shadow mode every write carries
dryRun=All and nothing else differs.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from schemas.actions import Action, TargetKind
from schemas.outcome import Operation, OperationResult, Verb
from schemas.reasons import Reason
from services.cluster import (
    ClusterRefused,
    ClusterUnavailable,
    Transport,
)
from services.executor.facts import Facts, PodFacts, QuotaRoom, WorkloadFacts
from services.executor.marked_objects import MarkedPod, PodTemplate, TemplatedDeployment
from services.executor.object_facts import (
    autoscaler_facts,
    deployment_facts,
    job_facts,
    node_facts,
    pod_facts,
)
from services.executor.owners import ObjectReader
from services.executor.paths import object_path
from services.executor.quotas import Quota, room_for
from services.executor.raises import added_pods
from services.executor.reach import AUTOSCALERS, WRITTEN
from services.executor.refusals import lacks_right, planned_only, refused_result
from services.executor.sending import send_operation
from services.executor.verification import has_reached_end, shows_patch
from services.held import HELD
from services.kube_budgets import PATH as BUDGETS_PATH
from services.kube_budgets import Budget
from services.kube_lists import list_decoder, read_list
from services.kube_objects import Meta, Node
from services.kube_workloads import Autoscaler, Deployment, Job

CONFLICT_TRIES = 4
"""While a Deployment rolls out, its controller writes its status several times a second, each time a new version."""
_PODS = list_decoder(MarkedPod)
_NODES = list_decoder(Node)
_DEPLOYMENTS = list_decoder(Deployment)
_JOBS = list_decoder(Job)
_AUTOSCALERS = list_decoder(Autoscaler)
_QUOTAS = list_decoder(Quota)
_BUDGETS = list_decoder(Budget)


async def read_facts(transport: Transport, action: Action) -> Facts:
    """Read what a plan for this action may look at.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    if action.target.kind is TargetKind.NODE:
        return await _read_node_facts(transport, action.target.name)
    if action.target.kind is TargetKind.QUEUE:
        return await _read_queue_facts(transport)
    if action.target.kind is TargetKind.WORKLOAD:
        return await _read_workload_facts(transport, action.target.name)
    return Facts(time_seconds=0.0)


async def apply_operation(
    transport: Transport,
    operation: Operation,
    *,
    dry_run: bool,
    check_guards: Callable[[], Awaitable[OperationResult | None]],
) -> OperationResult:
    """Apply one operation and return what became of it; never raises for an answer of the API
    server.

    A conflict is re-validated, a few times over: an object that shows the end already is left alone, one that is
    still as it was planned for is written at its new version, anything else is refused. `check_guards`
    returns the refusal of a guard, or None; it is asked before every single write.
    """
    try:
        for left in range(CONFLICT_TRIES, 0, -1):
            try:
                return await _try_operation(transport, operation, check_guards, dry_run=dry_run)
            except ClusterRefused as error:
                if dry_run and lacks_right(error):
                    return planned_only(error)
                if left == 1 or not _calls_for_another_look(operation, error):
                    return refused_result(error)
                refused = error
            again = await _revalidate(transport, operation, refused)
            if isinstance(again, OperationResult):
                return again
            operation = again
    except ClusterRefused as error:
        return refused_result(error)
    except ClusterUnavailable as error:
        return _failed_result(error)
    raise AssertionError("the last try returns")


async def _try_operation(
    transport: Transport,
    operation: Operation,
    check_guards: Callable[[], Awaitable[OperationResult | None]],
    *,
    dry_run: bool,
) -> OperationResult:
    refusal = await check_guards()
    return refusal or await _send_operation(transport, operation, dry_run=dry_run)


def _calls_for_another_look(operation: Operation, error: ClusterRefused) -> bool:
    """Whether the object may be gone, changed, or another one of its name: a patch that names another
    object's uid is invalid (422) to the API server, and no conflict.
    """
    return error.status in {404, 409} or (
        error.status == 422 and operation.verb in {Verb.PATCH, Verb.RESIZE}
    )


async def _send_operation(
    transport: Transport, operation: Operation, *, dry_run: bool
) -> OperationResult:
    answer = await send_operation(transport, operation, dry_run=dry_run)
    if answer is None:
        return OperationResult(status="unchanged")
    metadata = json.loads(answer.body or b"{}").get("metadata") or {}
    version = str(metadata.get("resourceVersion", ""))
    unchanged = (
        bool(operation.resource_version) and version == operation.resource_version and not dry_run
    )
    return OperationResult(
        status="unchanged" if unchanged else "applied",
        http_status=answer.status,
        resource_version=version,
    )


async def _revalidate(
    transport: Transport, operation: Operation, error: ClusterRefused
) -> OperationResult | Operation:
    """Return what became of an operation that met a conflict, or the operation to send again."""
    current = await read_object(transport, operation)
    if error.status == 422 and (current is None or current["metadata"].get("uid") == operation.uid):
        return refused_result(error)
    if has_reached_end(operation, current):
        return OperationResult(
            status="unchanged", http_status=error.status, message=error.message[:300]
        )
    if current is None or operation.verb in {Verb.EVICT, Verb.DELETE}:
        return refused_result(error)
    metadata = current["metadata"]
    as_planned = operation.undo and shows_patch(operation, current, operation.undo)
    if metadata.get("uid") != operation.uid or not as_planned:
        return OperationResult(
            status="refused",
            reason=Reason.TARGET_CHANGED,
            http_status=error.status,
            message="it changed since it was judged",
        )
    return operation.model_copy(update={"resource_version": str(metadata["resourceVersion"])})


def _failed_result(error: ClusterUnavailable) -> OperationResult:
    return OperationResult(status="failed", reason=Reason.API_UNREACHABLE, message=str(error)[:300])


async def read_object(transport: Transport, operation: Operation) -> dict[str, Any] | None:
    """Return the object of an operation as the API shows it; None when it is gone.

    Raises:
        ClusterUnavailable, ClusterRefused: it could not be read.
    """
    try:
        answer = await transport.request("GET", object_path(operation))
    except ClusterRefused as error:
        if error.status == 404:
            return None
        raise
    current: dict[str, Any] = json.loads(answer.body)
    return current


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
        node=None if node is None else node_facts(node, listed.cluster_time_seconds),
        pods=tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name))),
        workloads=tuple(workloads),
    )


async def _read_budgets(transport: Transport) -> tuple[Budget, ...]:
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
        *(
            added_pods(one.metadata.annotations, one.spec.replicas)
            for one in listed.items
            if one is not found
        ),
        *(
            added_pods(one.metadata.annotations, one.spec.min_replicas)
            for one in autoscalers
            if one is not scaling
        ),
    ]
    return Facts(
        time_seconds=listed.cluster_time_seconds,
        workloads=(workload,),
        autoscaler=None if scaling is None else autoscaler_facts(scaling),
        quota_room=await _read_quota_room(transport, workload.namespace, template),
        other_added_pods=sum(others),
    )


async def add_autoscaled(transport: Transport, facts: Facts) -> Facts:
    """Return facts of a node with the Deployments that somebody scales already.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    scaled = [
        f"{one.metadata.namespace}/Deployment/{one.spec.scale_target_ref.name}"
        for one in await _read_autoscalers(transport)
        if one.spec.scale_target_ref.kind == "Deployment"
    ]
    return facts.model_copy(update={"autoscaled": tuple(sorted(scaled))})


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
) -> QuotaRoom | None:
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
        if not pod.lacks_room:
            continue
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
