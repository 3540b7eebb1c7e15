"""Usage of pods, by the Metrics Server or by a Prometheus that scrapes the kubelets' cAdvisor, and the peaks of it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from inputs.quantities import parse_cores, parse_whole
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.kube_decoding import decode_object
from services.kube_objects import KubeStruct, parse_duration, parse_time
from services.prometheus import SERVER, PrometheusRefused, PrometheusServer, values_by
from services.prometheus_queries import POD, POD_CPU, POD_MEMORY, POD_SAMPLE, PODS
from services.prometheus_settings import PrometheusSettings

MOST_GAP_SECONDS = 120.0
"""Samples further apart leave it open what was used in between; what came before counts no more."""
MOST_PODS = 50
"""Watched at a time; the one that was wished for longest ago goes first."""
WATCHED_WINDOWS = 2.0
"""A pod is watched for so many windows after the last wish."""


@dataclass(frozen=True, slots=True)
class PodUsageSample:
    """One measurement of a pod."""

    time_seconds: float
    """When it was measured, cluster time."""
    usage: dict[str, tuple[float, int]]
    """By container: cores and bytes."""
    source: str = ""
    """Who measured it: `metrics_server` or `prometheus`."""
    window_seconds: float = 0.0
    """Seconds before its time over which cores are a mean; 0: it does not say."""


@dataclass(slots=True)
class _Watched:
    namespace: str
    name: str
    wished_seconds: float
    samples: list[PodUsageSample] = field(default_factory=list)


class UsagePeaks:
    """Samples of pods for which a resize was wished; kept by the pod's uid."""

    def __init__(self, window_seconds: float) -> None:
        """Keep samples of the last two windows."""
        self._window_seconds = window_seconds
        self._pods: OrderedDict[str, _Watched] = OrderedDict()

    def watch(self, namespace: str, name: str, uid: str, now_seconds: float) -> bool:
        """Watch a pod from now on; return whether it was not watched before."""
        known = self._pods.pop(uid, None)
        self._pods[uid] = known or _Watched(namespace, name, now_seconds)
        self._pods[uid].wished_seconds = now_seconds
        while len(self._pods) > MOST_PODS:
            self._pods.popitem(last=False)
        return known is None

    def watched(self, now_seconds: float) -> tuple[tuple[str, str, str], ...]:
        """Return namespace, name and uid of every pod that is watched; forget those long not wished for."""
        kept_seconds = WATCHED_WINDOWS * self._window_seconds
        for uid in list(self._pods):
            if now_seconds - self._pods[uid].wished_seconds > kept_seconds:
                del self._pods[uid]
        return tuple((one.namespace, one.name, uid) for uid, one in self._pods.items())

    def add(self, uid: str, sample: PodUsageSample) -> None:
        """Note a measurement; one that is there already, or older, changes nothing."""
        pod = self._pods.get(uid)
        if pod is None:
            return
        if pod.samples and sample.time_seconds <= pod.samples[-1].time_seconds:
            return
        if pod.samples and sample.time_seconds - pod.samples[-1].time_seconds > MOST_GAP_SECONDS:
            pod.samples.clear()
        pod.samples.append(sample)
        oldest = sample.time_seconds - WATCHED_WINDOWS * self._window_seconds
        pod.samples[:] = [one for one in pod.samples if one.time_seconds >= oldest]

    def known_seconds(self, uid: str) -> float:
        """Return for how long a pod's usage is known without a gap."""
        pod = self._pods.get(uid)
        if pod is None or not pod.samples:
            return 0.0
        return pod.samples[-1].time_seconds - pod.samples[0].time_seconds

    def newest(self, uid: str) -> PodUsageSample | None:
        """Return a pod's newest measurement; None before the first."""
        pod = self._pods.get(uid)
        return pod.samples[-1] if pod is not None and pod.samples else None

    def of(self, uid: str) -> dict[str, tuple[float, int]]:
        """Return the most cores and bytes of each container in what is kept."""
        pod = self._pods.get(uid)
        peaks: dict[str, tuple[float, int]] = {}
        for sample in () if pod is None else pod.samples:
            for name, (cores, size) in sample.usage.items():
                most = peaks.get(name, (0.0, 0))
                peaks[name] = (max(most[0], cores), max(most[1], size))
        return peaks


METRICS = "/apis/metrics.k8s.io/v1beta1"
METRICS_SERVER = "metrics_server"
PodName = tuple[str, str]
"""Namespace and name."""


class ContainerUsage(KubeStruct, frozen=True):
    """containers[] of PodMetrics."""

    name: str = ""
    usage: dict[str, str] = {}


class PodMetrics(KubeStruct, frozen=True):
    """metrics.k8s.io PodMetrics."""

    timestamp: str = ""
    window: str = ""
    containers: tuple[ContainerUsage, ...] = ()


class UsageSource(Protocol):
    """Who says what pods use."""

    async def read(self, pods: Sequence[PodName]) -> dict[PodName, PodUsageSample]:
        """Return the newest measurement of each pod; one that cannot be had now is left out."""
        ...


def usage_source(transport: Transport, settings: PrometheusSettings) -> UsageSource:
    """Return the Prometheus of these settings, or the Metrics Server where they name none.

    Raises:
        ConfigError: a file that they name cannot be used.
    """
    return PrometheusUsage(settings) if settings.url else MetricsServerUsage(transport)


class MetricsServerUsage:
    """Asks the API server for the metrics of one pod after the other."""

    def __init__(self, transport: Transport) -> None:
        """Ask through `transport`."""
        self._transport = transport

    async def read(self, pods: Sequence[PodName]) -> dict[PodName, PodUsageSample]:
        """Return the newest measurements; see `UsageSource.read`."""
        samples = {}
        for pod in pods:
            sample = await self._read_one(*pod)
            if sample is not None:
                samples[pod] = sample
        return samples

    async def _read_one(self, namespace: str, name: str) -> PodUsageSample | None:
        path = f"{METRICS}/namespaces/{namespace}/pods/{name}"
        try:
            answer = await self._transport.request("GET", path)
            metrics = decode_object(PodMetrics, answer.body)
            usage = {
                one.name: (
                    parse_cores(one.usage["cpu"]),
                    parse_whole(one.usage["memory"]),
                )
                for one in metrics.containers
            }
            window = parse_duration(metrics.window) if metrics.window else 0.0
            return PodUsageSample(parse_time(metrics.timestamp), usage, METRICS_SERVER, window)
        except (
            ClusterUnavailable,
            ClusterRefused,
            msgspec.DecodeError,
            ValueError,
            KeyError,  # what a container uses is not known: that is not 0
            RecursionError,
        ):
            return None


class PrometheusUsage:
    """Asks a Prometheus for all pods at once."""

    def __init__(self, settings: PrometheusSettings) -> None:
        """Ask the Prometheus of these settings.

        Raises:
            ConfigError: a file that they name cannot be used.
        """
        self._server = PrometheusServer(settings)

    async def read(self, pods: Sequence[PodName]) -> dict[PodName, PodUsageSample]:
        """Return the newest measurements; see `UsageSource.read`.

        A container counts with both amounts and a time; a pod is as old as its oldest container.
        """
        if not pods:
            return {}
        # A dot is the one sign of a pod's name that an expression reads as more than itself.
        named = "|".join(sorted({name for _, name in pods})).replace(".", "[.]")
        purposes = (POD_CPU, POD_MEMORY, POD_SAMPLE)
        try:
            cores, memory, seconds = await asyncio.gather(
                *(self._values(purpose, named) for purpose in purposes)
            )
        except PrometheusRefused:
            return {}
        window = self._server.queries[POD_CPU].covered_seconds
        usage: dict[PodName, dict[str, tuple[float, int]]] = {}
        times: dict[PodName, float] = {}
        for key in sorted(seconds.keys() & cores.keys() & memory.keys()):
            pod = (key[0], key[1])
            usage.setdefault(pod, {})[key[2]] = (cores[key], round(memory[key]))
            times[pod] = min(times.get(pod, seconds[key]), seconds[key])
        return {
            pod: PodUsageSample(times[pod], usage[pod], SERVER, window)
            for pod in pods
            if pod in usage
        }

    async def _values(self, purpose: str, named: str) -> dict[tuple[str, ...], float]:
        query = self._server.queries[purpose]
        return values_by(await self._server.ask(query, {PODS: named}), POD, query.labels)
