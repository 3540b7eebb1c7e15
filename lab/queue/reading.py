"""One look at a cluster's Jobs: everything that is read, and what gave no answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from lab.queue.objects import (
    BATCH_JOBS,
    GROUP,
    JOBS_PATH,
    METRICS_PATH,
    NODES_PATH,
    PODS_PATH,
    VERSIONS,
    WORKLOADS,
    BatchJob,
    Workload,
)
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.kube_lists import ListDecoder, list_decoder, read_list
from services.kube_objects import KubeStruct, Node, NodeMetrics, Pod

T = TypeVar("T", bound=KubeStruct)
_PODS, _NODES, _METRICS = list_decoder(Pod), list_decoder(Node), list_decoder(NodeMetrics)


@dataclass(frozen=True, slots=True)
class QueueReads:
    """What a cluster answered at one look."""

    time_seconds: float
    """The API server's clock."""
    jobs: Sequence[BatchJob]
    pods: Sequence[Pod] = ()
    nodes: Sequence[Node] = ()
    workloads: Sequence[Workload] = ()
    """Empty where Kueue is not installed."""
    usage: Mapping[str, NodeMetrics] = field(default_factory=dict)
    """By node."""
    missing: tuple[str, ...] = ()
    """Sources that gave no answer."""


async def kueue_version(transport: Transport) -> str | None:
    """Return the version of Kueue's API that a cluster serves; None: Kueue is not installed.

    Raises:
        ClusterUnavailable: no answer.
    """
    for version in VERSIONS:
        try:
            await transport.request("GET", f"/apis/{GROUP}/{version}")
        except ClusterRefused as error:
            if error.status not in {403, 404}:
                raise
        else:
            return version
    return None


async def read_queues(
    transport: Transport, version: str | None, namespaces: Sequence[str] = ()
) -> QueueReads:
    """Read Jobs, Workloads, pods, nodes and usage; all but the Jobs may be missing.

    Args:
        transport: the cluster.
        version: of Kueue's API (`kueue_version`); None: no Workloads are asked for.
        namespaces: whose Jobs and Workloads count; empty: all.

    Raises:
        ClusterUnavailable: no answer to the list of Jobs.
        ClusterRefused: that list is refused.
    """
    jobs = await read_list(transport, JOBS_PATH, BATCH_JOBS)
    missing: list[str] = []

    async def others(name: str, path: str, decoder: ListDecoder[T]) -> Sequence[T]:
        try:
            return (await read_list(transport, path, decoder)).items
        except (ClusterUnavailable, ClusterRefused):
            missing.append(name)
            return ()

    workloads: Sequence[Workload] = ()
    if version is not None:
        workloads = await others("workloads", f"/apis/{GROUP}/{version}/workloads", WORKLOADS)
    usage = await others("usage", METRICS_PATH, _METRICS)
    return QueueReads(
        time_seconds=jobs.cluster_time_seconds,
        jobs=_of(jobs.items, namespaces),
        pods=await others("pods", PODS_PATH, _PODS),
        nodes=await others("nodes", NODES_PATH, _NODES),
        workloads=_of(workloads, namespaces),
        usage={one.metadata.name: one for one in usage},
        missing=tuple(missing),
    )


def _of(items: Sequence[Any], namespaces: Sequence[str]) -> tuple[Any, ...]:
    wanted = frozenset(namespaces)
    return tuple(one for one in items if not wanted or one.metadata.namespace in wanted)
