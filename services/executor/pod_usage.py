"""What pods use, by the Metrics Server or by a Prometheus that scrapes the kubelets' cAdvisor."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

import msgspec

from inputs.quantities import parse_cores, parse_whole
from services.cluster import ClusterRefused, ClusterUnavailable, Transport
from services.executor.pod_amounts import PodMetrics
from services.executor.usage_peaks import Sample
from services.kube_decoding import decode_object
from services.kube_objects import parse_duration, parse_time
from services.prometheus import SERVER, PrometheusRefused, PrometheusServer, values_by
from services.prometheus_queries import POD, POD_CPU, POD_MEMORY, POD_SAMPLE, PODS
from services.prometheus_settings import PrometheusSettings

METRICS = "/apis/metrics.k8s.io/v1beta1"
METRICS_SERVER = "metrics_server"
PodName = tuple[str, str]
"""Namespace and name."""


class UsageSource(Protocol):
    """Who says what pods use."""

    async def read(self, pods: Sequence[PodName]) -> dict[PodName, Sample]:
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

    async def read(self, pods: Sequence[PodName]) -> dict[PodName, Sample]:
        """Return the newest measurements; see `UsageSource.read`."""
        samples = {}
        for pod in pods:
            sample = await self._read_one(*pod)
            if sample is not None:
                samples[pod] = sample
        return samples

    async def _read_one(self, namespace: str, name: str) -> Sample | None:
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
            return Sample(parse_time(metrics.timestamp), usage, METRICS_SERVER, window)
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

    async def read(self, pods: Sequence[PodName]) -> dict[PodName, Sample]:
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
        return {pod: Sample(times[pod], usage[pod], SERVER, window) for pod in pods if pod in usage}

    async def _values(self, purpose: str, named: str) -> dict[tuple[str, ...], float]:
        query = self._server.queries[purpose]
        return values_by(await self._server.ask(query, {PODS: named}), POD, query.labels)
