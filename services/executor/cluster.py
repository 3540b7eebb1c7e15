"""What the executor reads from and writes to the cluster.

Reading gives plain facts for the planner. Writing applies one operation with its preconditions
(UID, resourceVersion) and says what the API server answered; in shadow mode every write carries
dryRun=All and nothing else differs.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from schemas.actions import Action, TargetKind
from schemas.outcome import Operation, OperationResult, Verb
from schemas.reasons import Reason
from services.cluster import MERGE_PATCH, ApiResponse, ClusterRefused, ClusterUnavailable, Transport
from services.executor.facts import Facts, NodeFacts, PodFacts, WorkloadFacts, already_shows
from services.executor.marked_objects import MarkedPod
from services.executor.paths import object_path
from services.executor.verification import has_reached_end
from services.held import HELD
from services.kept_results import kept
from services.kube_lists import list_decoder, read_list
from services.kube_objects import Meta, Node, effective_request, parse_time
from services.kube_workloads import Deployment, Job
from services.protection import do_not_disrupt_mark

REASONS = {
    403: Reason.FORBIDDEN,
    404: Reason.TARGET_GONE,
    409: Reason.CONFLICT,
    422: Reason.INVALID,
    429: Reason.PDB,
}
"""HTTP status of a refused write to our reason."""

_PODS = list_decoder(MarkedPod)
_NODES = list_decoder(Node)
_DEPLOYMENTS = list_decoder(Deployment)
_JOBS = list_decoder(Job)


async def read_facts(transport: Transport, action: Action) -> Facts:
    """Read what a plan for this action may look at.

    Raises:
        ClusterUnavailable, ClusterRefused: the cluster could not be read.
    """
    if action.target.kind is TargetKind.NODE:
        return await _read_node_facts(transport, action.target.name)
    if action.target.kind is TargetKind.QUEUE:
        return await _read_queue_facts(transport)
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

    A conflict is re-validated once: an object that shows the end already is left alone, one that is
    still as it was planned for is written at its new version, anything else is refused. `check_guards`
    returns the refusal of a guard, or None; it is asked before every single write.
    """
    try:
        refusal = await check_guards()
        return refusal or await _send_operation(transport, operation, dry_run=dry_run)
    except ClusterRefused as error:
        if not _calls_for_another_look(operation, error):
            return _refused_result(error)
        refused = error
    except ClusterUnavailable as error:
        return _failed_result(error)
    try:
        again = await _revalidate(transport, operation, refused)
        if isinstance(again, OperationResult):
            return again
        refusal = await check_guards()
        return refusal or await _send_operation(transport, again, dry_run=dry_run)
    except ClusterRefused as error:
        return _refused_result(error)
    except ClusterUnavailable as error:
        return _failed_result(error)


def _calls_for_another_look(operation: Operation, error: ClusterRefused) -> bool:
    """Whether the object may be gone, changed, or another one of its name: a patch that names another
    object's uid is invalid (422) to the API server, and no conflict.
    """
    return error.status in {404, 409} or (error.status == 422 and operation.verb is Verb.PATCH)


async def _send_operation(
    transport: Transport, operation: Operation, *, dry_run: bool
) -> OperationResult:
    answer = await _send_request(transport, operation, {"dryRun": "All"} if dry_run else {})
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
        return _refused_result(error)
    if has_reached_end(operation, current):
        return OperationResult(
            status="unchanged", http_status=error.status, message=error.message[:300]
        )
    if current is None or operation.verb in {Verb.EVICT, Verb.DELETE}:
        return _refused_result(error)
    metadata = current["metadata"]
    as_planned = operation.undo and already_shows(current, json.loads(operation.undo))
    if metadata.get("uid") != operation.uid or not as_planned:
        return OperationResult(
            status="refused",
            reason=Reason.TARGET_CHANGED,
            http_status=error.status,
            message="it changed since it was judged",
        )
    return operation.model_copy(update={"resource_version": str(metadata["resourceVersion"])})


def _refused_result(error: ClusterRefused) -> OperationResult:
    return OperationResult(
        status="refused",
        reason=REASONS.get(error.status, Reason.API_ERROR),
        http_status=error.status,
        message=error.message[:300],
    )


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


async def _send_request(
    transport: Transport, operation: Operation, query: Mapping[str, str]
) -> ApiResponse:
    path = object_path(operation)
    if operation.verb is Verb.EVICT:
        body: dict[str, Any] = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": operation.name, "namespace": operation.namespace},
            "deleteOptions": {"preconditions": {"uid": operation.uid}},
        }
        return await transport.request("POST", f"{path}/eviction", query, body)
    if operation.verb is Verb.DELETE:
        options: dict[str, Any] = {"preconditions": {"uid": operation.uid}}
        if "dryRun" in query:  # beside a body, the API server does not read the query of a DELETE
            options["dryRun"] = [query["dryRun"]]
        return await transport.request("DELETE", path, query, options)
    if operation.verb is Verb.SCALE:
        metadata = (
            {"resourceVersion": operation.resource_version} if operation.resource_version else {}
        )
        scale = {"metadata": metadata, "spec": {"replicas": operation.replicas}}
        return await transport.request("PATCH", f"{path}/scale", query, scale, MERGE_PATCH)
    patch = json.loads(operation.patch)
    conditions = {"uid": operation.uid, "resourceVersion": operation.resource_version}
    preconditions = {name: value for name, value in conditions.items() if value}
    patch["metadata"] = {**patch.get("metadata", {}), **preconditions}
    return await transport.request("PATCH", path, query, patch, MERGE_PATCH)


async def _read_node_facts(transport: Transport, name: str) -> Facts:
    nodes = await read_list(
        transport, "/api/v1/nodes", _NODES, {"fieldSelector": f"metadata.name={name}"}
    )
    listed = await read_list(
        transport, "/api/v1/pods", _PODS, {"fieldSelector": f"spec.nodeName={name}"}
    )
    pods = [
        _pod_facts(pod)
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
        node=None if node is None else _facts_of_node(node),
        pods=tuple(sorted(pods, key=lambda pod: (pod.namespace, pod.name))),
        workloads=tuple(workloads),
    )


async def _read_queue_facts(transport: Transport) -> Facts:
    listed = await read_list(
        transport, "/api/v1/pods", _PODS, {"fieldSelector": "status.phase=Pending"}
    )
    pods = [_pod_facts(pod) for pod in listed.items if not pod.spec.node_name]
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


async def _read_workloads(transport: Transport, pending: Iterable[PodFacts]) -> list[WorkloadFacts]:
    counts: dict[str, int] = {}
    priorities: dict[str, int] = {}
    for pod in pending:
        counts[pod.workload] = counts.get(pod.workload, 0) + 1
        priorities[pod.workload] = max(priorities.get(pod.workload, pod.priority), pod.priority)
    deployments = (await read_list(transport, "/apis/apps/v1/deployments", _DEPLOYMENTS)).items
    jobs = (await read_list(transport, "/apis/batch/v1/jobs", _JOBS)).items
    workloads = [*map(_deployment_facts, deployments), *map(_job_facts, jobs)]
    filled = [
        workload.model_copy(
            update={"pending_pods": counts[workload.id], "priority": priorities[workload.id]}
        )
        if workload.id in counts
        else workload
        for workload in workloads
    ]
    return sorted(filled, key=lambda one: one.id)


@kept
def _deployment_facts(deployment: Deployment) -> WorkloadFacts:
    spec = deployment.spec
    facts = _workload_facts("Deployment", deployment.metadata, spec.replicas, suspended=False)
    return facts.model_copy(update={"ready": max(0, deployment.status.ready_replicas)})


@kept
def _job_facts(job: Job) -> WorkloadFacts:
    spec = job.spec
    return _workload_facts("Job", job.metadata, spec.parallelism, suspended=spec.suspend)


def _workload_facts(kind: str, metadata: Meta, replicas: int, *, suspended: bool) -> WorkloadFacts:
    return WorkloadFacts(
        id=f"{metadata.namespace}/{kind}/{metadata.name}",
        kind=kind,
        namespace=metadata.namespace,
        name=metadata.name,
        uid=metadata.uid,
        resource_version=metadata.resource_version,
        replicas=replicas,
        suspended=suspended,
        annotations={
            name: value
            for name, value in metadata.annotations.items()
            if name.startswith("foresail.dev/")
        },
        protected=_is_protected(metadata),
        created_time_seconds=parse_time(metadata.creation_timestamp)
        if metadata.creation_timestamp
        else 0.0,
    )


def _pod_facts(pod: MarkedPod) -> PodFacts:
    created = pod.metadata.creation_timestamp
    return PodFacts(
        namespace=pod.metadata.namespace,
        name=pod.metadata.name,
        uid=pod.metadata.uid,
        workload=pod.workload(),
        cpu_request_cores=effective_request(pod.spec).cpu_cores,
        priority=pod.spec.priority,
        daemon=pod.daemon,
        pending=pod.status.phase == "Pending",
        protected=_is_protected(pod.metadata),
        created_time_seconds=parse_time(created) if created else 0.0,
    )


def _is_protected(metadata: Meta) -> bool:
    """Say whether an object itself asks to be left alone."""
    return bool(do_not_disrupt_mark(metadata.annotations, metadata.labels))


def _facts_of_node(node: Node) -> NodeFacts:
    return NodeFacts(
        name=node.metadata.name,
        uid=node.metadata.uid,
        resource_version=node.metadata.resource_version,
        ready=node.ready,
        unschedulable=node.spec.unschedulable,
        protected=_is_protected(node.metadata),
        annotations={
            name: value
            for name, value in node.metadata.annotations.items()
            if name.startswith("foresail.dev/")
        },
        taints=tuple(
            {
                name: value
                for name, value in (
                    ("key", taint.key),
                    ("value", taint.value),
                    ("effect", taint.effect),
                )
                if value
            }
            for taint in node.spec.taints
        ),
    )
