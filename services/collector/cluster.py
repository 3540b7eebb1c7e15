"""Sources of the collector: six sources, each on its own.

A source that fails yields its failure as a value (`SourceRead(ok=False, ...)`) and leaves the other
sources untouched; rows of an earlier cycle are never handed out again in its place.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from schemas.reasons import Reason
from schemas.snapshot import SourceRead
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.collector import work_metrics
from services.collector.reading import CycleReads, ListRead, WorkRead, failed_read
from services.kube_budgets import PATH, PodDisruptionBudget
from services.kube_lists import ListDecoder, list_decoder, read_list
from services.kube_objects import KubeStruct, Node, NodeMetrics, Pod
from services.kube_workloads import Autoscaler, Deployment, Job, Service

T = TypeVar("T", bound=KubeStruct)


@dataclass(frozen=True, slots=True)
class ApiList(Generic[T]):
    """One list of the API."""

    name: str
    path: str
    kind: type[T]
    decoder: ListDecoder[T]
    optional: bool = False
    """A 404 means that the cluster does not have it."""


def api_list(name: str, path: str, kind: type[T], *, optional: bool = False) -> ApiList[T]:
    """Return a list whose items are of one kind."""
    return ApiList(name, path, kind, list_decoder(kind), optional)


NODES = api_list("nodes", "/api/v1/nodes", Node)
PODS = api_list("pods", "/api/v1/pods", Pod)
DEPLOYMENTS = api_list("deployments", "/apis/apps/v1/deployments", Deployment)
JOBS = api_list("jobs", "/apis/batch/v1/jobs", Job)
NODE_METRICS = api_list(
    "node_metrics", "/apis/metrics.k8s.io/v1beta1/nodes", NodeMetrics, optional=True
)
AUTOSCALERS = api_list(
    "autoscalers", "/apis/autoscaling/v2/horizontalpodautoscalers", Autoscaler, optional=True
)
BUDGETS = api_list("budgets", PATH, PodDisruptionBudget, optional=True)
STATEFUL_SETS = api_list("stateful_sets", "/apis/apps/v1/statefulsets", Deployment)
SERVICES = api_list("services", "/api/v1/services", Service)
WATCHED = (NODES, PODS, DEPLOYMENTS, JOBS, AUTOSCALERS, BUDGETS, STATEFUL_SETS)
"""What is followed where the server can be watched."""


class Lists(Protocol):
    """Where lists are read from: `ListingSources`, or `services.collector.following`."""

    async def read(self, source: ApiList[T], otherwise_time_seconds: float) -> ListRead[T]:
        """Return a list; never raises for what the API server or the network does."""
        ...


class ListingSources:
    """Asks the server for the whole list each time."""

    def __init__(self, transport: Transport, metrics_from: Lists | None = None) -> None:
        """Ask through `transport`, but `metrics_from` for what nodes use where it is given."""
        self._transport = transport
        self._metrics_from = metrics_from

    async def read(self, source: ApiList[T], otherwise_time_seconds: float) -> ListRead[T]:
        """Return a list; see `Lists.read`."""
        if self._metrics_from is not None and source.name == NODE_METRICS.name:
            return await self._metrics_from.read(source, otherwise_time_seconds)
        return await read_one_list(self._transport, source, otherwise_time_seconds)


async def read_every_source(
    transport: Transport,
    otherwise_time_seconds: float,
    *,
    simulated: bool = False,
    lists_from: Lists | None = None,
) -> CycleReads:
    """Read every source; a failed one carries `otherwise_time_seconds` as its time.

    Only the embedded cluster counts requests and CPU time at its own /metrics. Without `lists_from`
    the server is asked for each list.
    """
    source = lists_from or ListingSources(transport)
    lists = await read_every_list(transport, otherwise_time_seconds, lists_from=source)
    budgets = await source.read(BUDGETS, otherwise_time_seconds)
    known = budgets.source.ok or budgets.source.reason is Reason.NOT_INSTALLED
    sets = await source.read(STATEFUL_SETS, otherwise_time_seconds)
    lists = replace(
        lists,
        budgets=budgets.items if known else None,
        stateful_sets=sets.items if sets.source.ok else None,
    )
    if not simulated:
        return lists
    return replace(lists, work=await read_work(transport, otherwise_time_seconds, source))


async def read_work(
    transport: Transport, otherwise_time_seconds: float, lists_from: Lists
) -> WorkRead:
    """Read the counters of work; never raises for what the API server or the network does."""
    name, reason = "work_metrics", Reason.SOURCE_ERROR
    services = await lists_from.read(SERVICES, otherwise_time_seconds)
    try:
        answer = await transport.request("GET", work_metrics.PATH, work_metrics.QUERY)
        metrics = work_metrics.read_work_metrics(answer.body)
    except ClusterUnavailable as error:
        reason, message = Reason.API_UNREACHABLE, str(error)
    except ClusterRefused as error:
        message = error.message
    except ValueError as error:
        message = " ".join(str(error).split())
    else:
        at = answer.cluster_time_seconds
        items = len(metrics.services)
        return WorkRead(
            SourceRead(source=name, ok=True, read_time_seconds=at, items=items),
            metrics,
            services.items,
        )
    return WorkRead(failed_read(name, otherwise_time_seconds, reason, message))


async def read_every_list(
    transport: Transport, otherwise_time_seconds: float, *, lists_from: Lists | None = None
) -> CycleReads:
    """Read every list; a failed one carries `otherwise_time_seconds` as its time."""
    source = lists_from or ListingSources(transport)
    nodes, pods, deployments, jobs, metrics, autoscalers = await asyncio.gather(
        source.read(NODES, otherwise_time_seconds),
        source.read(PODS, otherwise_time_seconds),
        source.read(DEPLOYMENTS, otherwise_time_seconds),
        source.read(JOBS, otherwise_time_seconds),
        source.read(NODE_METRICS, otherwise_time_seconds),
        source.read(AUTOSCALERS, otherwise_time_seconds),
    )
    return CycleReads(nodes, pods, deployments, jobs, metrics, autoscalers)


async def read_one_list(
    transport: Transport, source: ApiList[T], otherwise_time_seconds: float
) -> ListRead[T]:
    """Read all pages of one list; never raises for what the API server or the network does."""
    try:
        listed = await read_list(transport, source.path, source.decoder)
    except (ClusterUnavailable, ClusterRefused) as error:
        return ListRead(read_failure(source, error, otherwise_time_seconds))
    record = SourceRead(
        source=source.name,
        ok=True,
        read_time_seconds=listed.cluster_time_seconds,
        resource_version=listed.resource_version,
        items=len(listed.items),
    )
    return ListRead(record, listed.items)


_REASONS = {401: Reason.UNAUTHENTICATED, 403: Reason.FORBIDDEN, 429: Reason.THROTTLED}


def read_failure(
    source: ApiList[T], error: ClusterUnavailable | ClusterRefused, time_seconds: float
) -> SourceRead:
    """Return the record of a list that could not be read."""
    if isinstance(error, ClusterUnavailable):
        return failed_read(source.name, time_seconds, Reason.API_UNREACHABLE, str(error))
    reason = _REASONS.get(error.status, Reason.SOURCE_ERROR)
    if error.status == 404 and source.optional:
        reason = Reason.NOT_INSTALLED
    return failed_read(source.name, time_seconds, reason, error.message)
