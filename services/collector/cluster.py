"""What the collector reads from the cluster: six sources, each on its own.

A source that fails yields its failure as a value (`SourceRead(ok=False, ...)`) and leaves the other
sources untouched; rows of an earlier cycle are never handed out again in its place.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from schemas.reasons import Reason
from schemas.snapshot import SourceRead
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.collector.reading import Read, Reading, failed
from services.kube_lists import Page, decoder_of, read_list
from services.kube_objects import (
    Autoscaler,
    Deployment,
    Job,
    KubeStruct,
    Node,
    NodeMetrics,
    Pod,
)

T = TypeVar("T", bound=KubeStruct)


@dataclass(frozen=True, slots=True)
class Source(Generic[T]):
    """One list of the API."""

    name: str
    path: str
    decoder: msgspec.json.Decoder[Page[T]]
    optional: bool = False
    """A 404 means that the cluster does not have it."""


NODES = Source("nodes", "/api/v1/nodes", decoder_of(Node))
PODS = Source("pods", "/api/v1/pods", decoder_of(Pod))
DEPLOYMENTS = Source("deployments", "/apis/apps/v1/deployments", decoder_of(Deployment))
JOBS = Source("jobs", "/apis/batch/v1/jobs", decoder_of(Job))
NODE_METRICS = Source(
    "node_metrics",
    "/apis/metrics.k8s.io/v1beta1/nodes",
    decoder_of(NodeMetrics),
    optional=True,
)
AUTOSCALERS = Source(
    "autoscalers",
    "/apis/autoscaling/v2/horizontalpodautoscalers",
    decoder_of(Autoscaler),
    optional=True,
)


async def read_all(transport: Transport, otherwise_time_seconds: float) -> Reading:
    """Read every source; a failed one carries `otherwise_time_seconds` as its time."""
    nodes, pods, deployments, jobs, metrics, autoscalers = await asyncio.gather(
        read(transport, NODES, otherwise_time_seconds),
        read(transport, PODS, otherwise_time_seconds),
        read(transport, DEPLOYMENTS, otherwise_time_seconds),
        read(transport, JOBS, otherwise_time_seconds),
        read(transport, NODE_METRICS, otherwise_time_seconds),
        read(transport, AUTOSCALERS, otherwise_time_seconds),
    )
    return Reading(nodes, pods, deployments, jobs, metrics, autoscalers)


async def read(transport: Transport, source: Source[T], otherwise_time_seconds: float) -> Read[T]:
    """Read all pages of one list; never raises for what the API server or the network does."""
    try:
        listed = await read_list(transport, source.path, source.decoder)
    except ClusterUnavailable as error:
        reason, message = Reason.API_UNREACHABLE, str(error)
    except ClusterRefused as error:
        reason, message = _reason_of(error, source), error.message
    else:
        record = SourceRead(
            source=source.name,
            ok=True,
            read_time_seconds=listed.cluster_time_seconds,
            resource_version=listed.resource_version,
            items=len(listed.items),
        )
        return Read(record, listed.items)
    return Read(failed(source.name, otherwise_time_seconds, reason, message))


def _reason_of(error: ClusterRefused, source: Source[T]) -> Reason:
    if error.status == 404 and source.optional:
        return Reason.NOT_INSTALLED
    if error.status in {401, 403}:
        return Reason.FORBIDDEN
    return Reason.SOURCE_ERROR
