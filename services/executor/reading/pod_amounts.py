"""Resources of a node's pods, as far as it may be changed in place, and the most that they used lately.

Read once a resize is wished for, then at every observation for a while. Usage is kept in memory: after a restart of the
executor it is known anew only after `executor.usage_seconds`, and nothing is given less before.

Source: Kubernetes, "Resize CPU and Memory Resources assigned to Containers" (1.35) and KEP-1287. Left alone are
pods whose amounts somebody else sees to: those of another resize, of a Vertical Pod Autoscaler, of their
kubelet's files, with amounts of the whole pod, and pods of Windows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

import msgspec

from schemas.actions import ActionKind, ResizeAction
from services.cluster import ClusterRefused, Transport
from services.executor.facts import ContainerFacts, Facts, PodFacts
from services.executor.plans.right_size import wanted_amounts
from services.executor.reading.marked_objects import MarkedMeta, MarkedPod
from services.executor.reading.pod_usage import PodUsageSample, UsagePeaks, usage_source
from services.executor.settings import ExecutorSettings
from services.kube_decoding import decode_object
from services.kube_lists import list_decoder, read_list
from services.kube_objects import Container, KubeStruct, PodStatus
from services.kube_objects import PodSpec as SharedPodSpec
from services.pod_requests import IN_PROGRESS, RESIZE_PENDING

_AUTOSCALED = ("vpaUpdates", "vpaInPlaceUpdated")
"""Annotations of the Vertical Pod Autoscaler on pods whose amounts it has written."""
RESIZABLE_QOS = frozenset({"Guaranteed", "Burstable"})


class _ResizePolicy(KubeStruct, frozen=True):
    resource_name: str = ""
    restart_policy: str = ""


class _ResizableContainer(Container, frozen=True):
    resize_policy: tuple[_ResizePolicy, ...] = ()


class _Os(KubeStruct, frozen=True):
    name: str = ""


class _Spec(SharedPodSpec, frozen=True):
    containers: tuple[_ResizableContainer, ...] = ()
    os: _Os | None = None


class _Status(PodStatus, frozen=True):
    qos_class: str = ""


class ResizablePod(MarkedPod, frozen=True):
    """A pod with what decides about a resize."""

    metadata: MarkedMeta = MarkedMeta()
    spec: _Spec = _Spec()
    status: _Status = _Status()


class ServedResource(KubeStruct, frozen=True):
    """resources[] of an APIResourceList."""

    name: str = ""


class ServedResources(KubeStruct, frozen=True):
    """Resources of the core group."""

    resources: tuple[ServedResource, ...] = ()


class ServerVersion(KubeStruct, frozen=True):
    """/version."""

    major: str = ""
    minor: str = ""

    def at_least(self, minor: int) -> bool:
        """Say whether it is Kubernetes 1.`minor` or later; what cannot be read is not."""
        digits = self.minor.rstrip("+")
        return self.major == "1" and digits.isdecimal() and int(digits) >= minor


def container_facts(pod: ResizablePod) -> tuple[ContainerFacts, ...]:
    """Return what a pod's containers are given; nothing where its amounts are not ours to change."""
    busy = any(
        one.type in {RESIZE_PENDING, IN_PROGRESS} and one.status == "True"
        for one in pod.status.conditions
    )
    others = any(name in pod.metadata.annotations for name in _AUTOSCALED)
    windows = pod.spec.os is not None and pod.spec.os.name == "windows"
    own = pod.static or pod.spec.resources is not None or pod.status.phase != "Running"
    if busy or others or windows or own or pod.status.qos_class not in RESIZABLE_QOS:
        return ()
    return tuple(
        ContainerFacts(
            name=one.name,
            requests=one.resources.requests,
            limits=one.resources.limits,
            restarts_for=tuple(
                policy.resource_name
                for policy in one.resize_policy
                if policy.restart_policy == "RestartContainer"
            ),
        )
        for one in pod.spec.containers
    )


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
        self._most_fitted = settings.pods_per_fit
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
        ranked = sorted(
            facts.pods, key=lambda pod: (-pod.cpu_request_cores, pod.namespace, pod.name)
        )
        pods = await self._with_amounts(ranked, "/api/v1/pods", on_node)
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

    async def add_sizes(self, facts: Facts, action: ResizeAction) -> Facts:
        """Return facts of a workload with what its pods are given, and what those use now that would change.

        Raises:
            ClusterUnavailable, ClusterRefused: the cluster could not be read.
        """
        if not facts.pods or not await self._serves_resize():
            return facts.model_copy(update={"resize_served": not facts.pods})
        path = f"/api/v1/namespaces/{facts.pods[0].namespace}/pods"
        pods = await self._with_amounts(facts.pods, path, {})
        changed = [pod for pod in pods if wanted_amounts(pod, action)][: self._most_fitted]
        used = await self._usage.read([(pod.namespace, pod.name) for pod in changed])
        known = {pod.uid: used.get((pod.namespace, pod.name)) for pod in changed}
        return facts.model_copy(
            update={
                "pods": tuple(
                    _using(pod, known[pod.uid]) if pod.uid in known else pod for pod in pods
                ),
                "resize_served": True,
            }
        )

    async def _with_amounts(
        self, pods: Sequence[PodFacts], path: str, selector: Mapping[str, str]
    ) -> list[PodFacts]:
        listed = (await read_list(self._transport, path, _PODS, selector)).items
        by_uid = {pod.metadata.uid: pod for pod in listed}
        return [
            pod.model_copy(
                update={
                    "resource_version": by_uid[pod.uid].metadata.resource_version,
                    "qos": by_uid[pod.uid].status.qos_class,
                    "containers": container_facts(by_uid[pod.uid]),
                }
            )
            if pod.uid in by_uid
            else pod
            for pod in pods
        ]

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


def _using(pod: PodFacts, sample: PodUsageSample | None) -> PodFacts:
    """Return a pod with what its containers use now; without a sample it is not known."""
    usage = {} if sample is None else sample.usage
    containers = tuple(
        one.model_copy(update={"peak_cores": usage[one.name][0], "peak_bytes": usage[one.name][1]})
        if one.name in usage
        else one
        for one in pod.containers
    )
    return pod.model_copy(update={"containers": containers})
