"""Which pods are to be changed, and which first. Pure.

Source: updater/priority/update_priority_calculator.go and priority_processor.go.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from twin.config.vertical import VerticalConfig
from twin.records import Object, ObjectRecord, PodRecord
from twin.vertical.estimation import Amounts
from twin.vertical.objects import (
    amount_of,
    capped_recommendation,
    container_policy,
    current_resources,
)


@dataclass(frozen=True, slots=True)
class Priority:
    """How far a pod is from its recommendation."""

    outside: bool
    """A request is outside of the recommended range."""
    grows: bool
    difference: float
    """Sum over the resources of the relative difference of all containers together."""


def pods_to_update(
    vpa: ObjectRecord, pods: list[PodRecord], now: float, config: VerticalConfig
) -> list[PodRecord]:
    """Return the pods that may be changed now, the most urgent first."""
    found = []
    for pod in pods:
        resources = current_resources(pod)
        priority = _priority(capped_recommendation(vpa, resources), resources)
        if _is_accepted(vpa, pod, priority, now, config):
            found.append((not priority.grows, -priority.difference, pod.name, pod))
    return [entry[-1] for entry in sorted(found, key=lambda entry: entry[:-1])]


def _priority(
    recommendation: Mapping[str, Mapping[str, Amounts]], resources: Mapping[str, Object]
) -> Priority:
    outside = grows = False
    asked: Counter[str] = Counter()
    wanted: Counter[str] = Counter()
    for name, bounds in recommendation.items():
        requests = resources[name].get("requests") or {}
        for resource, target in bounds["target"].items():
            wanted[resource] += target
            if resource not in requests:
                outside = grows = True
                continue
            request = amount_of(resource, requests[resource])
            asked[resource] += request
            grows = grows or target > request
            low, high = bounds["lowerBound"].get(resource), bounds["upperBound"].get(resource)
            too_small = low is not None and request < low
            outside = outside or too_small or (high is not None and request > high)
    difference = math.fsum(
        abs(max(asked[resource], 1) - amount) / max(asked[resource], 1)
        for resource, amount in wanted.items()
    )
    return Priority(outside, grows, difference)


def _is_accepted(
    vpa: ObjectRecord, pod: PodRecord, priority: Priority, now: float, config: VerticalConfig
) -> bool:
    quick = _ran_out_quickly(vpa, pod, config)
    if not priority.outside and not quick:
        if pod.started_at is None or now < pod.started_at + config.lifetime_seconds:
            return False
        if priority.difference < config.update_threshold:
            return False
    return not (quick and priority.difference == 0.0)


def _ran_out_quickly(vpa: ObjectRecord, pod: PodRecord, config: VerticalConfig) -> bool:
    ended = pod.ended
    if ended is None or ended.reason != "OOMKilled" or pod.container_state == "terminated":
        return False
    if all(container_policy(vpa, name).get("mode") == "Off" for name in pod.shape.containers):
        return False
    return ended.finished_at - ended.started_at < config.quick_oom_seconds
