"""What pods of a node are given and use: read once a resize is wished for, then at every observation for a while.

Usage is kept in memory: after a restart of the executor it is known anew only after `executor.usage_seconds`, and
nothing is given less before.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from schemas.actions import ActionKind
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.facts import Facts, PodFacts
from services.executor.pod_amounts import (
    PodMetrics,
    ResizablePod,
    ServedResources,
    ServerVersion,
    container_facts,
)
from services.executor.settings import ExecutorSettings
from services.executor.usage_peaks import Sample, UsagePeaks
from services.kube_lists import list_decoder, read_list
from services.kube_objects import KubeStruct, parse_time
from services.quantities import parse_cores, parse_whole

RESIZED = frozenset({ActionKind.THROTTLE, ActionKind.MEMORY_BALLOON})
METRICS = "/apis/metrics.k8s.io/v1beta1"
LIMITS_FALL_MINOR = 34
"""Since Kubernetes 1.34 a memory limit may be lowered without a restart."""
K = TypeVar("K", bound=KubeStruct)
PODS_PER_NODE = 10
"""Of a node, the pods with the largest requests are watched."""
_PODS = list_decoder(ResizablePod)


class PodReader:
    """Reads amounts and usage of the pods on nodes for which a resize is wished."""

    def __init__(self, transport: Transport, settings: ExecutorSettings) -> None:
        """Read through `transport`."""
        self._transport = transport
        self._peaks = UsagePeaks(settings.usage_seconds)
        self._cycle = -1

    async def follow(self, cycle: int, now_seconds: float) -> None:
        """Read the usage of watched pods, once for each observation; what cannot be read is left out."""
        if cycle == self._cycle:
            return
        self._cycle = cycle
        for namespace, name, uid in self._peaks.watched(now_seconds):
            await self._read_usage(namespace, name, uid)

    async def add_amounts(self, facts: Facts) -> Facts:
        """Return facts of a node with what its pods are given and use.

        Raises:
            ClusterUnavailable, ClusterRefused: the cluster could not be read.
        """
        if facts.node is None or not await self._serves_resize():
            return facts
        on_node = {"fieldSelector": f"spec.nodeName={facts.node.name}"}
        listed = (await read_list(self._transport, "/api/v1/pods", _PODS, on_node)).items
        by_uid = {pod.metadata.uid: pod for pod in listed}
        ranked = sorted(
            facts.pods, key=lambda pod: (-pod.cpu_request_cores, pod.namespace, pod.name)
        )
        pods = [
            pod.model_copy(
                update={
                    "resource_version": by_uid[pod.uid].metadata.resource_version,
                    "qos": by_uid[pod.uid].status.qos_class,
                    "containers": container_facts(by_uid[pod.uid]),
                }
            )
            if pod.uid in by_uid
            else pod
            for pod in ranked
        ]
        candidates = [pod for pod in pods if pod.containers and not pod.daemon][:PODS_PER_NODE]
        for pod in candidates:
            if self._peaks.watch(pod.namespace, pod.name, pod.uid, facts.time_seconds):
                await self._read_usage(pod.namespace, pod.name, pod.uid)
        version = await self._get("/version", ServerVersion)
        return facts.model_copy(
            update={
                "pods": tuple(self._with_peaks(pod) for pod in pods),
                "resize_served": True,
                "memory_limits_fall": version.at_least(LIMITS_FALL_MINOR),
            }
        )

    def _with_peaks(self, pod: PodFacts) -> PodFacts:
        peaks = self._peaks.of(pod.uid)
        containers = tuple(
            one.model_copy(
                update={"peak_cores": peaks[one.name][0], "peak_bytes": peaks[one.name][1]}
            )
            if one.name in peaks
            else one
            for one in pod.containers
        )
        known = self._peaks.known_seconds(pod.uid)
        return pod.model_copy(update={"containers": containers, "usage_seconds": known})

    async def _serves_resize(self) -> bool:
        try:
            served = await self._get("/api/v1", ServedResources)
        except ClusterRefused:  # whoever does not say what it serves gets the taint
            return False
        return any(one.name == "pods/resize" for one in served.resources)

    async def _read_usage(self, namespace: str, name: str, uid: str) -> None:
        """Note what one pod uses; nothing where its metrics cannot be had now."""
        path = f"{METRICS}/namespaces/{namespace}/pods/{name}"
        try:
            metrics = await self._get(path, PodMetrics)
            usage = {
                one.name: (
                    parse_cores(one.usage.get("cpu", "0")),
                    parse_whole(one.usage.get("memory", "0")),
                )
                for one in metrics.containers
            }
            moment = parse_time(metrics.timestamp)
        except (ClusterUnavailable, ClusterRefused, ValueError):
            return
        self._peaks.add(uid, Sample(moment, usage))

    async def _get(self, path: str, kind: type[K]) -> K:
        answer = await self._transport.request("GET", path)
        try:
            return msgspec.json.decode(answer.body, type=kind)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ClusterRefused(answer.status, "Unreadable", f"{path}: {error}") from error
