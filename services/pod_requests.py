"""Resources of a node that a pod holds, counted as kube-scheduler counts it.

Sources: Kubernetes, "Resource Management for Pods and Containers", "Sidecar Containers" (resource sharing),
"Pod Overhead", "Assign Pod-level CPU and memory resources", "Resize CPU and Memory Resources assigned to
Containers", KEP-753 and KEP-1287.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal, TypeVar

import msgspec

from inputs.quantities import parse_cores, parse_quantity, parse_whole
from services.kube_objects import (
    CPU,
    GPU_SUFFIX,
    MEMORY,
    Container,
    ContainerStatus,
    Pod,
    PodSpec,
    PodStatus,
    ResourceRequirements,
)

RESIZE_PENDING, IN_PROGRESS = "PodResizePending", "PodResizeInProgress"
"""Conditions of a pod whose resize its node has not begun, or not ended."""
_INFEASIBLE = "Infeasible"
Amounts = Mapping[str, str]
N = TypeVar("N", int, Decimal)


@dataclass(frozen=True, slots=True)
class EffectiveRequest:
    """Resources that a pod holds while it lives."""

    cpu_cores: float
    memory_bytes: int
    gpus: int


def effective_request(pod: Pod) -> EffectiveRequest:
    """Return what the scheduler reserves for a pod.

    While a resize is under way that is the largest of what is asked for, what the node has promised and what
    is in force; of a resize that can never be done, of the latter two.

    Raises:
        ValueError: an amount is not a Kubernetes quantity.
    """
    return template_request(pod.spec if pod.settled else _held(pod))


def template_request(spec: PodSpec) -> EffectiveRequest:
    """Return what the scheduler reserves for a pod of this spec; CPU is rounded up to whole millicores.

    Raises:
        ValueError: an amount is not a Kubernetes quantity.
    """
    micro_cores = _amount(spec, CPU, _micro_cores)
    return EffectiveRequest(
        cpu_cores=-(-micro_cores // 1_000) / 1_000,
        memory_bytes=_amount(spec, MEMORY, parse_whole),
        gpus=sum(_amount(spec, name, parse_whole) for name in _gpu_names(spec)),
    )


def template_amount(
    spec: PodSpec, name: str, field: Literal["requests", "limits"] = "requests"
) -> Decimal:
    """Return what a pod of this spec requests of any one resource, or its limit, as ResourceQuotas count it.

    Raises:
        ValueError: an amount is not a Kubernetes quantity.
    """
    return _amount(spec, name, parse_quantity, field)


def count_gpus(amounts: Amounts) -> int:
    """Return how many GPUs of any vendor are named in a resource list."""
    return sum([parse_whole(text) for name, text in amounts.items() if name.endswith(GPU_SUFFIX)])


def _amount(spec: PodSpec, name: str, read: Callable[[str], N], field: str = "requests") -> N:
    """Return the larger of all containers together and of each init container with the sidecars before it;
    the amount of the whole pod takes its place. The runtime's overhead comes on top, of a limit if there is one.
    """
    zero = read("0")

    def of(resources: ResourceRequirements) -> N:
        text = getattr(resources, field).get(name)
        return zero if text is None else read(text)

    sidecars = peak = zero
    for container in spec.init_containers:
        amount = of(container.resources)
        peak = max(peak, sidecars + amount)
        if container.sidecar:
            sidecars += amount
    total = max(sum((of(one.resources) for one in spec.containers), start=sidecars), peak)
    if spec.resources is not None and name in getattr(spec.resources, field):
        total = of(spec.resources)
    overhead = spec.overhead.get(name)
    if overhead is None or (field == "limits" and not total):
        return total
    return total + read(overhead)


def _micro_cores(text: str) -> int:
    return round(parse_cores(text) * 1_000_000)


def _gpu_names(spec: PodSpec) -> Sequence[str]:
    containers = (*spec.containers, *spec.init_containers)
    lists = [one.resources.requests for one in containers]
    named = {name for amounts in (*lists, spec.overhead) for name in amounts}
    return sorted(name for name in named if name.endswith(GPU_SUFFIX))


def _held(pod: Pod) -> PodSpec:
    """Return the spec with the requests that count in place of those asked for."""
    spec, status = pod.spec, pod.status
    pending = pod.condition(RESIZE_PENDING)
    refused = pending is not None and pending.reason == _INFEASIBLE
    by_name = {
        one.name: one for one in (*status.container_statuses, *status.init_container_statuses)
    }

    def held(container: Container) -> Container:
        found = by_name.get(container.name)
        if found is None:
            return container
        resources = _held_resources(container.resources, found, refused=refused)
        return msgspec.structs.replace(container, resources=resources)

    return msgspec.structs.replace(
        spec,
        containers=tuple(held(one) for one in spec.containers),
        init_containers=tuple(held(one) if one.sidecar else one for one in spec.init_containers),
        resources=spec.resources and _held_resources(spec.resources, status, refused=refused),
    )


def _held_resources(
    asked: ResourceRequirements, status: ContainerStatus | PodStatus, *, refused: bool
) -> ResourceRequirements:
    if status.resources is None:
        return asked
    counted = [status.resources.requests, status.allocated_resources]
    if not refused:
        counted.append(asked.requests)
    return ResourceRequirements(requests=_largest(counted), limits=asked.limits)


def _largest(lists: Iterable[Amounts]) -> dict[str, str]:
    largest: dict[str, str] = {}
    for amounts in lists:
        for name, text in amounts.items():
            if name not in largest or parse_quantity(text) > parse_quantity(largest[name]):
                largest[name] = text
    return largest
