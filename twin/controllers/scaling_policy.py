"""How fast an autoscaler may go: stabilisation windows and rate policies.

Without `spec.behavior`: the highest recommendation of the last five minutes, and at most twice the
replicas (or 4) in one sync. With it: a window and policies per direction (kubernetes/kubernetes
pkg/controller/podautoscaler/horizontal.go; defaults of pkg/apis/autoscaling/v2/defaults.go).
Guarantee: pure functions of past recommendations and scalings, which the caller keeps.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter

from twin.records import Object

Past = Sequence[tuple[float, int]]
"""(unix seconds, replicas) recommended, or (unix seconds, replicas changed), in order of time."""
Condition = tuple[bool, str, str]
"""(status, reason, message)"""
_LIMIT_FACTOR, _LIMIT_LEAST = 2.0, 4
_STABLE = {
    "ScaleUpStabilized": "recent recommendations were lower than current one, "
    "applying the lowest recent recommendation",
    "ScaleDownStabilized": "recent recommendations were higher than current one, "
    "applying the highest recent recommendation",
    "ReadyForNewScale": "recommended size matches current size",
}
_LIMITS = {
    "ScaleUpLimit": "the desired replica count is increasing faster than the maximum scale rate",
    "ScaleDownLimit": "the desired replica count is decreasing faster than the maximum scale rate",
    "TooManyReplicas": "the desired replica count is more than the maximum replica count",
    "TooFewReplicas": "the desired replica count is less than the minimum replica count",
    "DesiredWithinRange": "the desired count is within the acceptable range",
}


@dataclass(frozen=True, slots=True)
class Ask:
    """What the metrics want of a target that has `current` replicas."""

    now: float
    current: int
    desired: int
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What is done, with the conditions AbleToScale and ScalingLimited."""

    replicas: int
    able: Condition
    limited: Condition


def without_behavior(ask: Ask, recommended: Past, down_window_seconds: float) -> Answer:
    """Return the answer for an autoscaler that sets no behaviour."""
    recent = since(recommended, ask.now - down_window_seconds)
    stable = max(ask.desired, max(map(itemgetter(1), recent), default=ask.desired))
    ceiling = int(max(_LIMIT_FACTOR * ask.current, _LIMIT_LEAST))
    if stable < ask.least:
        replicas, reason = ask.least, "TooFewReplicas"
    elif stable > min(ask.most, ceiling):
        replicas = min(ask.most, ceiling)
        reason = "ScaleUpLimit" if ask.most > ceiling else "TooManyReplicas"
    else:
        replicas, reason = stable, "DesiredWithinRange"
    able = "ReadyForNewScale" if stable == ask.desired else "ScaleDownStabilized"
    return _answer(replicas, able, reason, limited=replicas != stable)


def with_behavior(
    ask: Ask, behavior: Object, recommended: Past, added: Past, removed: Past,
    down_window_seconds: float,
) -> Answer:  # fmt: skip
    """Return the answer for an autoscaler with a (defaulted) `spec.behavior`."""
    up, down = behavior["scaleUp"], behavior["scaleDown"]
    rising = ask.desired >= ask.current
    lowest = min([ask.desired, *_since(recommended, ask.now - up["stabilizationWindowSeconds"])])
    window = _down_window(down, down_window_seconds)
    highest = max([ask.desired, *_since(recommended, ask.now - window)])
    stable = min(max(ask.current, lowest), highest)
    able = "ScaleUpStabilized" if rising else "ScaleDownStabilized"
    able = "ReadyForNewScale" if stable == ask.desired else able
    replicas, reason = stable, "DesiredWithinRange"
    if stable > ask.current:
        ceiling = max(ask.current, _up_limit(ask, up, added, removed))
        if stable > min(ask.most, ceiling):
            replicas = min(ask.most, ceiling)
            reason = "ScaleUpLimit" if ask.most > ceiling else "TooManyReplicas"
    elif stable < ask.current:
        floor = min(ask.current, _down_limit(ask, down, added, removed))
        if stable < max(ask.least, floor):
            replicas = max(ask.least, floor)
            reason = "ScaleDownLimit" if ask.least < floor else "TooFewReplicas"
    return _answer(replicas, able, reason, limited=replicas != stable)


def since(past: Past, cutoff: float) -> Past:
    """Return what was at this time or later; a sorted past needs no look at each entry."""
    return past[bisect_left(past, (cutoff,)) :]


def longest_window(behavior: Object | None, down_window_seconds: float) -> float:
    """Return how long recommendations have to be remembered, in seconds."""
    if behavior is None:
        return down_window_seconds
    up = float(behavior["scaleUp"]["stabilizationWindowSeconds"])
    return max(up, _down_window(behavior["scaleDown"], down_window_seconds))


def longest_period(rules: Object) -> float:
    """Return how long scalings have to be remembered, in seconds."""
    return float(max((policy["periodSeconds"] for policy in rules["policies"]), default=0))


def _down_window(down: Object, default: float) -> float:
    return float(down.get("stabilizationWindowSeconds", default))


def _since(recommended: Past, cutoff: float) -> list[int]:
    return [count for at, count in recommended if at > cutoff]


def _up_limit(ask: Ask, rules: Object, added: Past, removed: Past) -> int:
    if rules["selectPolicy"] == "Disabled":
        return ask.current
    proposals: list[int] = []
    for policy in rules["policies"]:
        start = _at_start(ask, policy, added, removed)
        if policy["type"] == "Pods":
            proposals.append(start + policy["value"])
        else:  # rounded up, or one pod could never become two
            proposals.append(math.ceil(round(start * (1 + policy["value"] / 100), 9)))
    return min(proposals) if rules["selectPolicy"] == "Min" else max(proposals)


def _down_limit(ask: Ask, rules: Object, added: Past, removed: Past) -> int:
    if rules["selectPolicy"] == "Disabled":
        return ask.current
    proposals: list[int] = []
    for policy in rules["policies"]:
        start = _at_start(ask, policy, added, removed)
        if policy["type"] == "Pods":
            proposals.append(start - policy["value"])
        else:
            proposals.append(int(round(start * (1 - policy["value"] / 100), 9)))
    return max(proposals) if rules["selectPolicy"] == "Min" else min(proposals)


def _at_start(ask: Ask, policy: Object, added: Past, removed: Past) -> int:
    """Return the replicas at the start of the policy's period."""
    return (
        ask.current
        - _recent_change(ask.now, policy, added)
        + _recent_change(ask.now, policy, removed)
    )


def _recent_change(now: float, policy: Object, past: Past) -> int:
    return sum(count for at, count in past if at > now - policy["periodSeconds"])


def _answer(replicas: int, able: str, reason: str, *, limited: bool) -> Answer:
    return Answer(replicas, (True, able, _STABLE[able]), (limited, reason, _LIMITS[reason]))
