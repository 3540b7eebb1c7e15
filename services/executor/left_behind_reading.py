"""Reads what an earlier stack of ours left on the cluster, and tells what may be taken back from what may not.

Once, when an executor begins to act or to watch: nodes, workloads, autoscalers and quotas of all namespaces, and pods
of those that may be written. What may not be read is passed over.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any, TypeVar

from schemas.left_behind import FIRST_PART, LeftBehind
from schemas.outcome import Mode
from services.cluster import PAGE_ITEMS, ClusterRefused, Transport
from services.executor.ledger import Ledger
from services.executor.left_behind import (
    left_on_autoscaler,
    left_on_node,
    left_on_workload,
    left_quota,
)
from services.executor.left_behind_pods import OwnedPod, PodOwner, left_on_pod, resized_amounts
from services.executor.object_facts import (
    autoscaler_facts,
    deployment_facts,
    job_facts,
    node_facts,
)
from services.executor.owners import ObjectReader
from services.executor.plans.resource_cap import QUOTA
from services.executor.reach import AUTOSCALERS, RESOURCES, WRITTEN
from services.executor.reading import read_scope
from services.executor.scope import Scope
from services.executor.settings import ExecutorSettings
from services.kube_lists import ListDecoder, list_decoder, read_list
from services.kube_objects import KubeStruct, Node
from services.kube_workloads import Autoscaler, Deployment, Job

MOST_FOUND = 100
"""Told in one event; the rest follows once these are done."""
MOST_OUT_OF_REACH = 50
NOT_SERVED = frozenset({403, 404})
T = TypeVar("T", bound=KubeStruct)
ObjectKey = tuple[str, str, str]
"""Resource, namespace and name."""


class _QuotaObject(KubeStruct, frozen=True):
    metadata: dict[str, Any] = {}
    spec: dict[str, Any] = {}


_NODES = list_decoder(Node)
_DEPLOYMENTS = list_decoder(Deployment)
_JOBS = list_decoder(Job)
_AUTOSCALERS = list_decoder(Autoscaler)
_QUOTAS = list_decoder(_QuotaObject)
_PODS = list_decoder(OwnedPod)


class LeftOnCluster:
    """What was found, sorted by whether it may be taken back."""

    def __init__(self, state: Ledger) -> None:
        """Begin with nothing; what this stack's own log knows of is not left behind."""
        self._own = {
            (one.resource, one.namespace, one.name)
            for execution in state.executions
            for one in execution.operations
        }
        self.found: list[LeftBehind] = []
        self.out_of_reach: list[str] = []

    def add(self, one: LeftBehind | str | None, *, reach: bool) -> None:
        """Take one thing in, unless this stack did it itself."""
        if one is None:
            return
        if isinstance(one, str):
            self.out_of_reach.append(one)
        elif any(_key(operation) in self._own for operation in one.operations):
            return
        elif reach:
            self.found.append(one)
        else:
            self.out_of_reach.append(one.text)

    def numbered(self) -> tuple[LeftBehind, ...]:
        """Return as many as one event holds, each with its number."""
        return tuple(
            one.model_copy(update={"part": FIRST_PART + number})
            for number, one in enumerate(self.found[:MOST_FOUND])
        )


def _key(operation: Any) -> ObjectKey:
    return operation.resource, operation.namespace, operation.name


async def read_left_behind(
    transport: Transport, settings: ExecutorSettings, state: Ledger, mode: Mode
) -> LeftOnCluster:
    """Return everything that bears our marks.

    Raises:
        ClusterUnavailable, ClusterRefused: nodes or the scope could not be read.
    """
    scope = await read_scope(transport, settings, mode)
    left = LeftOnCluster(state)
    listed = await read_list(transport, "/api/v1/nodes", _NODES)
    for node in listed.items:
        facts = node_facts(node, listed.cluster_time_seconds)
        reach = scope.has_node(node.metadata.labels)
        for one in left_on_node(facts, settings):
            left.add(one, reach=reach)
    for deployment in await _items(transport, "deployments", _DEPLOYMENTS):
        found = left_on_workload(deployment_facts(deployment))
        left.add(found, reach=_may_write(scope, settings, deployment.metadata.namespace))
    for job in await _items(transport, "jobs", _JOBS):
        found = left_on_workload(job_facts(job))
        left.add(found, reach=_may_write(scope, settings, job.metadata.namespace))
    for autoscaler in await _items(transport, AUTOSCALERS, _AUTOSCALERS):
        found = left_on_autoscaler(autoscaler_facts(autoscaler))
        left.add(found, reach=_may_write(scope, settings, autoscaler.metadata.namespace))
    await _add_quotas(transport, settings, scope, left)
    await _add_pods(transport, settings, scope, left)
    return left


def _may_write(scope: Scope, settings: ExecutorSettings, namespace: str) -> bool:
    return scope.has_namespace(namespace) and namespace not in settings.protected_namespaces


async def _items(transport: Transport, resource: str, decoder: ListDecoder[T]) -> tuple[T, ...]:
    try:
        return (await read_list(transport, f"{WRITTEN[resource]}/{resource}", decoder)).items
    except ClusterRefused as error:
        if error.status in NOT_SERVED:
            return ()
        raise


async def _add_quotas(
    transport: Transport, settings: ExecutorSettings, scope: Scope, left: LeftOnCluster
) -> None:
    query = {"fieldSelector": f"metadata.name={QUOTA}"}
    async for quota in _pages(transport, "/api/v1/resourcequotas", _QUOTAS, query):
        content = {"metadata": quota.metadata, "spec": quota.spec}
        reach = _may_write(scope, settings, quota.metadata["namespace"])
        left.add(left_quota(content), reach=reach)


async def _add_pods(
    transport: Transport, settings: ExecutorSettings, scope: Scope, left: LeftOnCluster
) -> None:
    """Look for resized pods where they may be given back; elsewhere nobody is asked for so much."""
    reader = ObjectReader(transport)
    for namespace in _pod_namespaces(scope):
        where = f"/namespaces/{namespace}" if namespace else ""
        async for pod in _pages(transport, f"/api/v1{where}/pods", _PODS):
            if pod.finished or not resized_amounts(pod):
                continue
            owner = await _owner_of(reader, pod)
            reach = _may_write(scope, settings, pod.metadata.namespace)
            left.add(left_on_pod(pod, owner), reach=reach)


def _pod_namespaces(scope: Scope) -> Iterable[str]:
    return ("",) if scope.namespaces is None else sorted(scope.namespaces)


async def _owner_of(reader: ObjectReader, pod: OwnedPod) -> PodOwner | None:
    """Return who made a pod; None where nobody did, or it may not be read."""
    for owner in pod.metadata.owner_references:
        resource = RESOURCES.get((owner.api_version, owner.kind))
        if not owner.controller or resource is None:
            continue
        group = f"/apis/{owner.api_version}/namespaces/{pod.metadata.namespace}"
        try:
            return await reader.get(f"{group}/{resource}/{owner.name}", PodOwner)
        except ClusterRefused as error:
            if error.status not in NOT_SERVED:
                raise
    return None


async def _pages(
    transport: Transport,
    path: str,
    decoder: ListDecoder[T],
    query: dict[str, str] | None = None,
) -> AsyncIterator[T]:
    """Return the items of a list, of which a page at a time is held; none of one that may not be read."""
    parameters = {"limit": str(PAGE_ITEMS), **(query or {})}
    while True:
        try:
            answer = await transport.request("GET", path, parameters)
            page = decoder.page(answer.body)
        except ClusterRefused as error:
            if error.status in NOT_SERVED:
                return
            raise
        except (ValueError, RecursionError) as error:
            raise ClusterRefused(200, "Unreadable", f"{path}: {error}") from error
        for item in page.items:
            yield item
        if not page.metadata.continue_token:
            return
        parameters["continue"] = page.metadata.continue_token
