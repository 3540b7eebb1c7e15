"""How many replicas an Object or External metric asks for: a total, against a total or a share of a pod.

Source: kubernetes/kubernetes pkg/controller/podautoscaler/replica_calculator.go (GetObjectMetricReplicas,
GetObjectPerPodMetricReplicas, GetExternalMetricReplicas, GetExternalPerPodMetricReplicas).
Guarantee: pure functions of what is given; amounts are in thousandths.
"""

from __future__ import annotations

import math

from twin.controllers.replica_calculator import Proposal, is_within, round_last_bits


def by_value(value: int, target: int, current: int, ready: int, tolerance: float) -> Proposal:
    """Return the proposal of a target of type Value: the ready pods times value over target."""
    ratio = value / target
    replicas = current
    if not is_within(ratio, tolerance):
        replicas = math.ceil(round_last_bits(ratio * ready))
    return Proposal(replicas, None, 0, value)


def by_share(value: int, target: int, current: int, tolerance: float) -> Proposal:
    """Return the proposal of a target of type AverageValue: as many pods as bring it to the target."""
    ratio = value / (target * current) if current else math.inf
    replicas = current
    if not is_within(ratio, tolerance):
        replicas = math.ceil(round_last_bits(value / target))
    return Proposal(replicas, None, math.ceil(value / max(1, current)))
