"""How many replicas a resource metric asks for: the arithmetic of HorizontalPodAutoscaler.

Source of every rule: kubernetes/kubernetes pkg/controller/podautoscaler/replica_calculator.go. Pods
that are not ready yet count as using nothing on the way up; pods without a metric count as using
nothing on the way up and as using all of their target (at least their whole request) on the way
down; a ratio within the tolerance of 1 changes nothing.
Guarantee: a pure function of what is given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


class NoProposal(ValueError):
    """The metric says nothing; the text is the controller's own."""


@dataclass(slots=True)  # a frozen one takes three times as long to make, for each pod at each look
class ScaledPod:
    """One pod of the target as the autoscaler sees it; usage in milli-units, as upstream."""

    name: str
    phase: str
    deleting: bool
    ready: bool | None  # None without a Ready condition
    ready_since: float
    started_at: float | None
    request: int | None  # None when a container requests nothing of the resource
    usage: int | None  # None without a metric
    measured_at: float = 0.0
    window_seconds: float = 0.0
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """The controller manager's settings."""

    tolerance: float
    cpu_initialization_seconds: float
    initial_readiness_seconds: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """Proposal of a metric, and what it read: percent of the request (None), milli a pod, and milli in all
    for a target of type Value.
    """

    replicas: int
    utilization_percent: int | None
    average: int
    value: int | None = None


@dataclass(frozen=True, slots=True)
class _Groups:
    ready: int
    usage: dict[str, int]
    unready: tuple[str, ...]
    missing: tuple[str, ...]


def by_utilization(
    pods: Sequence[ScaledPod], current: int, target_percent: int, now: float, *, cpu: bool,
    rules: Rules,
) -> Proposal:  # fmt: skip
    """Return the proposal of a target of type Utilization; raises NoProposal."""
    groups = _group_pods(pods, now, cpu=cpu, rules=rules)
    requests = _requests(pods, "cpu" if cpu else "memory")
    ratio, percent, average = _utilization(groups.usage, requests, target_percent)
    fallback = max(100, target_percent)

    def again(usage: Mapping[str, int]) -> float:
        return _utilization(usage, requests, target_percent)[0]

    full = {name: requests[name] * fallback // 100 for name in groups.missing}
    replicas = _replicas(groups, current, ratio, full, again, rules.tolerance)
    return Proposal(replicas, percent, average)


def by_average(
    pods: Sequence[ScaledPod], current: int, target: int, now: float, *, cpu: bool, rules: Rules
) -> Proposal:
    """Return the proposal of a target of type AverageValue (milli-units); raises NoProposal."""
    groups = _group_pods(pods, now, cpu=cpu, rules=rules)
    ratio, average = _plain_ratio(groups.usage, target)

    def again(usage: Mapping[str, int]) -> float:
        return _plain_ratio(usage, target)[0]

    full = dict.fromkeys(groups.missing, target)
    replicas = _replicas(groups, current, ratio, full, again, rules.tolerance)
    return Proposal(replicas, None, average)


def _group_pods(pods: Sequence[ScaledPod], now: float, *, cpu: bool, rules: Rules) -> _Groups:
    if not pods:
        raise NoProposal("no pods returned by selector while calculating replica count")
    if all(pod.usage is None for pod in pods):
        raise NoProposal(
            f"unable to get metrics for resource {'cpu' if cpu else 'memory'}: "
            "no metrics returned from resource metrics API"
        )
    usage: dict[str, int] = {}
    unready: list[str] = []
    missing: list[str] = []
    ready = 0
    for pod in pods:
        if pod.deleting or pod.phase == "Failed":
            continue
        if pod.phase == "Pending":
            unready.append(pod.name)
        elif pod.usage is None:
            missing.append(pod.name)
        elif cpu and _warming_up(pod, now, rules):
            unready.append(pod.name)
        else:
            usage[pod.name] = pod.usage
            ready += 1
    if not usage:
        raise NoProposal("did not receive metrics for targeted pods (pods might be unready)")
    return _Groups(ready, usage, tuple(unready), tuple(missing))


def _warming_up(pod: ScaledPod, now: float, rules: Rules) -> bool:
    """True while a pod's CPU says more about its start than about its load."""
    if pod.ready is None or pod.started_at is None:
        return True
    if pod.started_at + rules.cpu_initialization_seconds > now:
        fresh = pod.measured_at < pod.ready_since + pod.window_seconds
        return not pod.ready or fresh
    never_ready = pod.started_at + rules.initial_readiness_seconds > pod.ready_since
    return not pod.ready and never_ready


def _requests(pods: Sequence[ScaledPod], resource: str) -> dict[str, int]:
    requests: dict[str, int] = {}
    for pod in pods:
        if pod.request is None:
            raise NoProposal(f"missing request for {resource} in a container of Pod {pod.name}")
        requests[pod.name] = pod.request
    return requests


def _utilization(
    usage: Mapping[str, int], requests: Mapping[str, int], target_percent: int
) -> tuple[float, int, int]:
    used = sum(usage.values())
    requested = sum(requests[name] for name in usage)
    if not requested:
        raise NoProposal("no metrics returned matched known pods")
    percent = used * 100 // requested
    return percent / target_percent, percent, used // len(usage)


def _plain_ratio(usage: Mapping[str, int], target: int) -> tuple[float, int]:
    average = sum(usage.values()) // len(usage)
    return average / target, average


def _replicas(
    groups: _Groups, current: int, ratio: float, full: Mapping[str, int], again: object,
    tolerance: float,
) -> int:  # fmt: skip
    """Return the count; `again` gives the ratio of corrected usage, `full` missing pods' share."""
    assert callable(again)
    up_with_unready = bool(groups.unready) and ratio > 1.0
    if not up_with_unready and not groups.missing:
        if is_within(ratio, tolerance):
            return current
        return math.ceil(round_last_bits(ratio * groups.ready))
    usage = dict(groups.usage)
    if ratio < 1.0:
        usage.update(full)
    elif ratio > 1.0:
        usage.update(dict.fromkeys(groups.missing, 0))
    if up_with_unready:
        usage.update(dict.fromkeys(groups.unready, 0))
    corrected = float(again(usage))
    turned = (ratio < 1.0 < corrected) or (corrected < 1.0 < ratio)
    if is_within(corrected, tolerance) or turned:
        return current
    replicas = math.ceil(round_last_bits(corrected * len(usage)))
    if (corrected < 1.0 and replicas > current) or (corrected > 1.0 and replicas < current):
        return current
    return replicas


def is_within(ratio: float, tolerance: float) -> bool:
    """Say whether a ratio is so close to 1 that nothing changes."""
    return abs(1.0 - ratio) <= tolerance + 1e-12


def round_last_bits(value: float) -> float:
    """Return a product without its last bits, so that 2.0000000000000004 pods are two."""
    return round(value, 9)
