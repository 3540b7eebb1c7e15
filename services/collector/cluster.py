"""What the collector reads from the cluster: six sources, each on its own.

A source that fails yields its failure as a value (`SourceRead(ok=False, ...)`) and leaves the other
sources untouched; rows of an earlier cycle are never handed out again in its place.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from schemas.reasons import Reason
from schemas.snapshot import SourceRead
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.collector import work_metrics
from services.collector.reading import CycleReads, ListRead, WorkRead, failed_read
from services.kube_budgets import PATH, Budget
from services.kube_lists import ListDecoder, list_decoder, read_list
from services.kube_objects import KubeStruct, Node, NodeMetrics, Pod
from services.kube_workloads import Autoscaler, Deployment, Job, Service

T = TypeVar("T", bound=KubeStruct)


@dataclass(frozen=True, slots=True)
class ApiList(Generic[T]):
    """One list of the API."""

    name: str
    path: str
    decoder: ListDecoder[T]
    optional: bool = False
    """A 404 means that the cluster does not have it."""


NODES = ApiList("nodes", "/api/v1/nodes", list_decoder(Node))
PODS = ApiList("pods", "/api/v1/pods", list_decoder(Pod))
DEPLOYMENTS = ApiList("deployments", "/apis/apps/v1/deployments", list_decoder(Deployment))
JOBS = ApiList("jobs", "/apis/batch/v1/jobs", list_decoder(Job))
NODE_METRICS = ApiList(
    "node_metrics",
    "/apis/metrics.k8s.io/v1beta1/nodes",
    list_decoder(NodeMetrics),
    optional=True,
)
AUTOSCALERS = ApiList(
    "autoscalers",
    "/apis/autoscaling/v2/horizontalpodautoscalers",
    list_decoder(Autoscaler),
    optional=True,
)
BUDGETS = ApiList("budgets", PATH, list_decoder(Budget), optional=True)
STATEFUL_SETS = ApiList("stateful_sets", "/apis/apps/v1/statefulsets", list_decoder(Deployment))
SERVICES = ApiList("services", "/api/v1/services", list_decoder(Service))


async def read_every_source(
    transport: Transport, otherwise_time_seconds: float, *, simulated: bool = False
) -> CycleReads:
    """Read every source; a failed one carries `otherwise_time_seconds` as its time.

    Only the embedded cluster counts requests and CPU time at its own /metrics.
    """
    lists = await read_every_list(transport, otherwise_time_seconds)
    budgets = await read_one_list(transport, BUDGETS, otherwise_time_seconds)
    known = budgets.source.ok or budgets.source.reason is Reason.NOT_INSTALLED
    sets = await read_one_list(transport, STATEFUL_SETS, otherwise_time_seconds)
    lists = replace(
        lists,
        budgets=budgets.items if known else None,
        stateful_sets=sets.items if sets.source.ok else None,
    )
    if not simulated:
        return lists
    return replace(lists, work=await read_work(transport, otherwise_time_seconds))


async def read_work(transport: Transport, otherwise_time_seconds: float) -> WorkRead:
    """Read the counters of work; never raises for what the API server or the network does."""
    name, reason = "work_metrics", Reason.SOURCE_ERROR
    services = await read_one_list(transport, SERVICES, otherwise_time_seconds)
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


async def read_every_list(transport: Transport, otherwise_time_seconds: float) -> CycleReads:
    """Read all pages of every list; a failed one carries `otherwise_time_seconds` as its time."""
    nodes, pods, deployments, jobs, metrics, autoscalers = await asyncio.gather(
        read_one_list(transport, NODES, otherwise_time_seconds),
        read_one_list(transport, PODS, otherwise_time_seconds),
        read_one_list(transport, DEPLOYMENTS, otherwise_time_seconds),
        read_one_list(transport, JOBS, otherwise_time_seconds),
        read_one_list(transport, NODE_METRICS, otherwise_time_seconds),
        read_one_list(transport, AUTOSCALERS, otherwise_time_seconds),
    )
    return CycleReads(nodes, pods, deployments, jobs, metrics, autoscalers)


async def read_one_list(
    transport: Transport, source: ApiList[T], otherwise_time_seconds: float
) -> ListRead[T]:
    """Read all pages of one list; never raises for what the API server or the network does."""
    try:
        listed = await read_list(transport, source.path, source.decoder)
    except ClusterUnavailable as error:
        reason, message = Reason.API_UNREACHABLE, str(error)
    except ClusterRefused as error:
        reason, message = _failure_reason(error, source), error.message
    else:
        record = SourceRead(
            source=source.name,
            ok=True,
            read_time_seconds=listed.cluster_time_seconds,
            resource_version=listed.resource_version,
            items=len(listed.items),
        )
        return ListRead(record, listed.items)
    return ListRead(failed_read(source.name, otherwise_time_seconds, reason, message))


def _failure_reason(error: ClusterRefused, source: ApiList[T]) -> Reason:
    if error.status == 404 and source.optional:
        return Reason.NOT_INSTALLED
    if error.status in {401, 403}:
        return Reason.FORBIDDEN
    return Reason.SOURCE_ERROR
