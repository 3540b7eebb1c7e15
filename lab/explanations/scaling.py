"""What each metric of a HorizontalPodAutoscaler asks for, by the controller's own formula, and what holds it back.

Sources: kubernetes/kubernetes pkg/controller/podautoscaler, release 1.36: replica_calculator.go and horizontal.go. The
arithmetic is the simulated cluster's (`twin.controllers.replica_calculator`). Pure: all inputs are objects as an API
server gives them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lab.explanations.frozen_cluster import Object, unix_seconds
from services.kube_objects import parse_duration
from twin.controllers.replica_calculator import (
    NoProposal,
    PodGroups,
    Proposal,
    Rules,
    ScaledPod,
    by_average,
    by_utilization,
    group_pods,
    round_last_bits,
)
from twin.controllers.total_metrics import by_share, by_value
from twin.quantity import parse_quantity

RULES = Rules(tolerance=0.1, cpu_initialization_seconds=300.0, initial_readiness_seconds=30.0)
"""kube-controller-manager's defaults; an HPA may set tolerances of its own."""
WITHOUT_TOLERANCE = 0.0
NO_PODS = PodGroups({}, (), (), ())


@dataclass(frozen=True, slots=True)
class Target:
    """What an HPA scales."""

    kind: str
    name: str
    replicas: int
    """Of its spec: what the formula starts from."""


@dataclass(frozen=True, slots=True)
class MetricAnswer:
    """One metric: what it reads, what it asks for, and what the formula left out."""

    name: str
    reads: str
    wants: str
    """Its target."""
    replicas: int | None
    """None where it says nothing."""
    problem: str
    """Why it says nothing."""
    ratio: float | None
    """Read over wanted, as the formula uses it first."""
    within_tolerance: bool
    without_tolerance: int | None
    """What it would ask for without the tolerance."""
    missing: tuple[str, ...]
    """Pods without a value: they count as idle on the way up, as at their target on the way down."""
    unready: tuple[str, ...]
    """Pods that are not ready or still starting: they count as idle on the way up and not at all on the way down."""
    ignored: tuple[str, ...]
    """Pods that are failed or being deleted."""
    without_corrections: int | None
    """What it would ask for if pods without a value and unready ones were simply left out."""
    age_seconds: float | None
    """Age of the oldest value that it rests on."""
    own_value: bool
    """Whether the value is what the HPA's status says that it read, and not read here."""


def scaled_pods(
    pods: Sequence[Object],
    metrics: Mapping[str, Object],
    resource: str,
    container: str = "",
) -> list[ScaledPod]:
    """Return the pods as the controller sees them.

    Args:
        pods: of the target's selector.
        metrics: PodMetrics by the pod's name.
        resource: cpu or memory.
        container: the one that a ContainerResource metric is about; empty: all.
    """
    return [
        _scaled_pod(pod, metrics.get(pod["metadata"]["name"]), resource, container) for pod in pods
    ]


def _scaled_pod(pod: Object, measured: Object | None, resource: str, container: str) -> ScaledPod:
    status, metadata = pod.get("status") or {}, pod["metadata"]
    ready = next((one for one in status.get("conditions") or () if one["type"] == "Ready"), None)
    usage = None if measured is None else _usage(measured, resource, container)
    at = None if measured is None else unix_seconds(measured.get("timestamp"))
    return ScaledPod(
        name=metadata["name"],
        phase=status.get("phase", "Pending"),
        deleting=bool(metadata.get("deletionTimestamp")),
        ready=None if ready is None else ready["status"] == "True",
        ready_since=0.0 if ready is None else unix_seconds(ready.get("lastTransitionTime")) or 0.0,
        started_at=unix_seconds(status.get("startTime")),
        request=_request(pod["spec"], resource, container),
        usage=usage,
        measured_at=at or 0.0,
        window_seconds=_window_seconds(measured),
        uid=metadata.get("uid", ""),
    )


def _window_seconds(measured: Object | None) -> float:
    text = None if measured is None else measured.get("window")
    return parse_duration(text) if text else 0.0


def _usage(measured: Object, resource: str, container: str) -> int | None:
    """Return milli-units, rounded up for each container as the API's quantities are; None without a value."""
    total = 0
    named = [
        one for one in measured.get("containers") or () if not container or one["name"] == container
    ]
    for one in named:
        amount = (one.get("usage") or {}).get(resource)
        if amount is None:
            return None
        total += math.ceil(parse_quantity(amount) * 1000)
    return total if named else None


def _request(spec: Object, resource: str, container: str) -> int | None:
    """Return milli-units; None when a container that counts requests nothing."""
    total = 0
    sidecars = [
        one for one in spec.get("initContainers") or () if one.get("restartPolicy") == "Always"
    ]
    for one in [*spec["containers"], *sidecars]:
        if container and one["name"] != container:
            continue
        amount = ((one.get("resources") or {}).get("requests") or {}).get(resource)
        if amount is None:
            return None
        total += math.ceil(parse_quantity(amount) * 1000)
    return total


def explain_metric(
    spec: Object,
    pods: Sequence[Object],
    metrics: Mapping[str, Object],
    status: Object,
    target: Target,
    now: float,
    rules: Rules = RULES,
) -> MetricAnswer:
    """Return what one metric of an HPA asks for.

    Args:
        spec: the entry of `spec.metrics`.
        pods: of the target's selector.
        metrics: PodMetrics by the pod's name.
        status: the HPA's; what metrics other than resources read stands there alone.
        target: what is scaled.
        now: the cluster's clock, unix seconds.
        rules: tolerance and times.
    """
    kind = spec["type"]
    if kind in ("Resource", "ContainerResource"):
        source = spec["resource" if kind == "Resource" else "containerResource"]
        seen = scaled_pods(pods, metrics, source["name"], source.get("container", ""))
        return _of_resource(source, seen, target, now, rules)
    return _of_status(spec, pods, status, target, rules)


def _of_resource(
    source: Object, pods: list[ScaledPod], target: Target, now: float, rules: Rules
) -> MetricAnswer:
    goal, cpu = source["target"], source["name"] == "cpu"
    container = f" of container {source['container']}" if source.get("container") else ""
    name = f"{source['name']}{container}"

    def propose(those: list[ScaledPod], under: Rules) -> Proposal:
        if "averageValue" in goal:
            average = int(parse_quantity(goal["averageValue"]) * 1000)
            return by_average(those, target.replicas, average, now, cpu=cpu, rules=under)
        percent = goal["averageUtilization"]
        return by_utilization(those, target.replicas, percent, now, cpu=cpu, rules=under)

    wants = (
        f"{goal['averageUtilization']} % of requests"
        if "averageUtilization" in goal
        else (f"{goal['averageValue']} a pod")
    )
    groups = group_pods(pods, now, cpu=cpu, rules=rules)
    try:
        found = propose(pods, rules)
    except NoProposal as error:
        return _silent(name, wants, str(error), groups)
    ratio = _ratio(found, goal)
    counted = [pod for pod in pods if pod.name in groups.usage]
    measured = [pod.measured_at for pod in counted if pod.measured_at]
    percent = found.utilization_percent
    return MetricAnswer(
        name=name,
        reads=f"{percent} % of requests"
        if percent is not None
        else f"{found.average / 1000:g} a pod",
        wants=wants,
        replicas=found.replicas,
        problem="",
        ratio=round(ratio, 6),
        within_tolerance=abs(1.0 - ratio) <= rules.tolerance,
        without_tolerance=propose(pods, replace(rules, tolerance=WITHOUT_TOLERANCE)).replicas,
        missing=groups.missing,
        unready=groups.unready,
        ignored=groups.ignored,
        without_corrections=math.ceil(round_last_bits(ratio * len(counted))),
        age_seconds=round(now - min(measured), 3) if measured else None,
        own_value=False,
    )


def _ratio(found: Proposal, goal: Object) -> float:
    if found.utilization_percent is not None:
        return float(found.utilization_percent / goal["averageUtilization"])
    return float(found.average / int(parse_quantity(goal["averageValue"]) * 1000))


def _silent(name: str, wants: str, problem: str, groups: PodGroups = NO_PODS) -> MetricAnswer:
    return MetricAnswer(
        name, "", wants, None, problem, None, False, None,
        groups.missing, groups.unready, groups.ignored, None, None, False,
    )  # fmt: skip


def _of_status(
    spec: Object, pods: Sequence[Object], status: Object, target: Target, rules: Rules
) -> MetricAnswer:
    """Answer for Pods, Object and External metrics by the value that the HPA's status says it read."""
    kind = spec["type"]
    field = kind.lower()
    source, goal = spec[field], spec[field]["target"]
    name = f"{kind} metric {source['metric']['name']}"
    wants = next(f"{goal[key]} {text}" for key, text in _GOALS.items() if goal.get(key) is not None)
    current = _current(spec, status)
    if current is None:
        return _silent(name, wants, "the HPA's status has no value of it")
    try:
        found = _by_total(current, goal, pods, target, rules)
        loose = _by_total(current, goal, pods, target, replace(rules, tolerance=0.0))
    except (NoProposal, ZeroDivisionError, KeyError) as error:
        return _silent(name, wants, str(error))
    key = "averageValue" if goal.get("averageValue") is not None else "value"
    ratio = float(parse_quantity(current[key]) / parse_quantity(goal[key]))
    return MetricAnswer(
        name, f"{current[key]} {_GOALS[key]}", wants, found.replicas, "", round(ratio, 6),
        abs(1.0 - ratio) <= rules.tolerance, loose.replicas, (), (), (), None, None, True,
    )  # fmt: skip


_GOALS = {"averageValue": "a pod", "value": "in all"}


def _current(spec: Object, status: Object) -> Object | None:
    field = spec["type"].lower()
    for one in status.get("currentMetrics") or ():
        if one.get("type") == spec["type"] and one[field]["metric"] == spec[field]["metric"]:
            current: Object = one[field]["current"]
            return current
    return None


def _by_total(
    current: Object, goal: Object, pods: Sequence[Object], target: Target, rules: Rules
) -> Proposal:
    if goal.get("averageValue") is not None:
        each = math.ceil(parse_quantity(current["averageValue"]) * 1000)
        wanted = int(parse_quantity(goal["averageValue"]) * 1000)
        return by_share(each * target.replicas, wanted, target.replicas, rules.tolerance)
    ready = sum(map(_is_ready, pods))
    value = math.ceil(parse_quantity(current["value"]) * 1000)
    return by_value(
        value, int(parse_quantity(goal["value"]) * 1000), target.replicas, ready, rules.tolerance
    )


def _is_ready(pod: Object) -> bool:
    status = pod.get("status") or {}
    conditions = status.get("conditions") or ()
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)
    return (
        ready and status.get("phase") == "Running" and not pod["metadata"].get("deletionTimestamp")
    )
