"""What pods of a node are given and use: read once a resize is wished for, then at every observation for a while.

Usage is kept in memory: after a restart of the executor it is known anew only after `executor.usage_seconds`, and
nothing is given less before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import msgspec

from schemas.actions import ActionKind
from services.cluster import ClusterRefused, Transport
from services.executor.facts import Facts, PodFacts
from services.executor.pod_amounts import (
    ResizablePod,
    ServedResources,
    ServerVersion,
    container_facts,
)
from services.executor.pod_usage import usage_source
from services.executor.settings import ExecutorSettings
from services.executor.usage_peaks import UsagePeaks
from services.kube_decoding import decode_object
from services.kube_lists import list_decoder, read_list
from services.kube_objects import KubeStruct

RESIZED = frozenset({ActionKind.THROTTLE, ActionKind.MEMORY_BALLOON})
LIMITS_FALL_MINOR = 34
"""Since Kubernetes 1.34 a memory limit may be lowered without a restart."""
K = TypeVar("K", bound=KubeStruct)
PODS_PER_NODE = 10
"""Of a node, the pods with the largest requests are watched."""
_PODS = list_decoder(ResizablePod)


class PodReader:
    """Reads amounts and usage of the pods on nodes for which a resize is wished."""

    def __init__(self, transport: Transport, settings: ExecutorSettings) -> None:
        """Read through `transport`, but usage from a Prometheus where the settings name one.

        Raises:
            ConfigError: a file that they name for it cannot be used.
        """
        self._transport = transport
        self._usage = usage_source(transport, settings.prometheus)
        self._peaks = UsagePeaks(settings.usage_seconds)
        self._cycle = -1

    async def follow(self, cycle: int, now_seconds: float) -> None:
        """Read the usage of watched pods, once for each observation; what cannot be read is left out."""
        if cycle == self._cycle:
            return
        self._cycle = cycle
        await self._read_usage(self._peaks.watched(now_seconds))

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
        await self._read_usage(
            [
                (pod.namespace, pod.name, pod.uid)
                for pod in candidates
                if self._peaks.watch(pod.namespace, pod.name, pod.uid, facts.time_seconds)
            ]
        )
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
        newest = self._peaks.newest(pod.uid)
        measured: dict[str, object] = (
            {}
            if newest is None
            else {
                "usage_source": newest.source,
                "usage_window_seconds": newest.window_seconds,
                "usage_time_seconds": newest.time_seconds,
            }
        )
        known = self._peaks.known_seconds(pod.uid)
        return pod.model_copy(update={"containers": containers, "usage_seconds": known, **measured})

    async def _serves_resize(self) -> bool:
        try:
            served = await self._get("/api/v1", ServedResources)
        except ClusterRefused:  # whoever does not say what it serves gets the taint
            return False
        return any(one.name == "pods/resize" for one in served.resources)

    async def _read_usage(self, pods: Sequence[tuple[str, str, str]]) -> None:
        """Note what pods use, given by namespace, name and uid; nothing where it cannot be had now."""
        samples = await self._usage.read([(namespace, name) for namespace, name, _ in pods])
        for namespace, name, uid in pods:
            sample = samples.get((namespace, name))
            if sample is not None:
                self._peaks.add(uid, sample)

    async def _get(self, path: str, kind: type[K]) -> K:
        answer = await self._transport.request("GET", path)
        try:
            return decode_object(kind, answer.body)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ClusterRefused(answer.status, "Unreadable", f"{path}: {error}") from error
