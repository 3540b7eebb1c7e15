"""What the pods of each workload use together, from PodMetrics or from a Prometheus' sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import nlargest
from typing import Any

from inputs.quantities import parse_cores, parse_whole
from schemas.snapshot import UsageTable
from schemas.tables import table_of
from services.collector.observe import is_watched
from services.collector.pod_rows import pod_facts
from services.kube_objects import KubeStruct, Meta, Pod
from services.kube_workloads import Deployment

REVISION = "deployment.kubernetes.io/revision"
"""Annotation of a Deployment that its controller raises with each change of the pod template."""
MOST_WORKLOADS = 1_400
"""Workloads that one event lists; 0.2 MB, and with both of their series what a history follows."""


class ContainerUsage(KubeStruct, frozen=True):
    """containers[] of PodMetrics."""

    usage: dict[str, str] = {}


class PodMetrics(KubeStruct, frozen=True):
    """One item of metrics.k8s.io PodMetrics."""

    metadata: Meta = Meta()
    containers: tuple[ContainerUsage, ...] = ()


@dataclass(slots=True)
class WorkloadUse:
    """What was measured of one workload."""

    pods: int = 0
    cores: list[float] = field(default_factory=list)
    memory_bytes: int = 0
    request_micro_cores: int = 0
    request_bytes: int = 0
    most_cores: float | None = None
    most_bytes: int | None = None


def use_of_pods(
    pods: Iterable[Pod], metrics: Iterable[PodMetrics], prefixes: tuple[str, ...]
) -> dict[str, WorkloadUse]:
    """Return the use of each watched workload whose running pods have metrics; bare pods are nobody's."""
    measured = {(one.metadata.namespace, one.metadata.name): one for one in metrics}
    used: dict[str, WorkloadUse] = {}
    for pod in _running(pods, prefixes):
        one = measured.get((pod.metadata.namespace, pod.metadata.name))
        if one is None:
            continue
        try:
            amounts = [
                (parse_cores(each.usage["cpu"]), parse_whole(each.usage["memory"]))
                for each in one.containers
            ]
            requested = pod_facts(pod)
        except (KeyError, ValueError):
            continue  # what a container uses is not known: that is not 0
        use = used.setdefault(pod.workload(), WorkloadUse())
        use.pods += 1
        pod_bytes = 0
        for cores, size in amounts:
            use.cores.append(cores)
            pod_bytes += size
        use.memory_bytes += pod_bytes
        use.request_micro_cores += requested.micro_cores
        use.request_bytes += requested.memory_bytes
        use.most_cores = max(use.most_cores or 0.0, math.fsum(cores for cores, _ in amounts))
        use.most_bytes = max(use.most_bytes or 0, pod_bytes)
    return used


def use_of_sums(
    pods: Iterable[Pod],
    cores: Mapping[str, float],
    memory_bytes: Mapping[str, float],
    prefixes: tuple[str, ...],
) -> dict[str, WorkloadUse]:
    """Return the same where sums by workload were measured."""
    used: dict[str, WorkloadUse] = {}
    for pod in _running(pods, prefixes):
        name = pod.workload()
        if name not in cores or name not in memory_bytes:
            continue
        use = used.get(name)
        if use is None:
            size = round(memory_bytes[name])
            use = used[name] = WorkloadUse(cores=[cores[name]], memory_bytes=size)
        use.pods += 1
        try:
            requested = pod_facts(pod)
            use.request_micro_cores += requested.micro_cores
            use.request_bytes += requested.memory_bytes
        except ValueError:
            continue
    return used


def usage_table(
    used: Mapping[str, WorkloadUse], deployments: Sequence[Deployment]
) -> tuple[UsageTable, int]:
    """Return the workloads that use the most CPU as they travel, and how many are left out."""
    versions = {
        f"{one.metadata.namespace}/Deployment/{one.metadata.name}": one.metadata.annotations.get(
            REVISION, ""
        )
        for one in deployments
    }
    sums = {name: math.fsum(use.cores) for name, use in used.items()}
    listed = nlargest(MOST_WORKLOADS, sums, key=lambda name: (sums[name], name))
    rows: dict[str, dict[str, Any]] = {
        name: {
            "version": versions.get(name, ""),
            "pods": used[name].pods,
            "cpu_used_cores": sums[name],
            "memory_used_bytes": used[name].memory_bytes,
            "cpu_request_cores": used[name].request_micro_cores / 1_000_000,
            "memory_request_bytes": used[name].request_bytes,
            "cpu_most_cores": used[name].most_cores,
            "memory_most_bytes": used[name].most_bytes,
        }
        for name in listed
    }
    return table_of(UsageTable, rows), len(used) - len(rows)


def _running(pods: Iterable[Pod], prefixes: tuple[str, ...]) -> Iterable[Pod]:
    return (
        pod
        for pod in pods
        if pod.status.phase == "Running"
        and is_watched(pod.metadata.namespace, prefixes)
        and pod.workload()
    )
