"""The whole answer to `explain hpa NAME --why-not scale`: which metric rules, what holds it back, and for how long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from lab.explanations.frozen_cluster import Object, unix_seconds
from lab.explanations.scaling import RULES, MetricAnswer, Target, explain_metric
from twin.controllers.replica_calculator import Rules
from twin.controllers.scaling_policy import Answer, Ask, with_behavior, without_behavior
from twin.quantity import parse_quantity

DOWN_WINDOW_SECONDS = 300.0
"""kube-controller-manager's --horizontal-pod-autoscaler-downscale-stabilization."""
ALWAYS_UNKNOWN = (
    "flags of the controller manager: its defaults are assumed (tolerance 0.1, 5 min of scale-down stabilisation)",
    "what it recommended before: whether its memory holds it back is known by its own conditions alone",
)


@dataclass(frozen=True, slots=True)
class Hold:
    """Something that keeps the number from what the metrics ask for."""

    what: str
    """tolerance, minimum, maximum, rate, stabilisation, silent metric, disabled."""
    text: str
    replicas: int | None
    """What would be asked for without it; None where that is not known."""
    since_seconds: float | None = None
    """Unix seconds; None where nothing says so."""


@dataclass(frozen=True, slots=True)
class WhyNotScaled:
    """What an autoscaler wants, and why it has what it has."""

    autoscaler: str
    target: Target
    as_of_seconds: float
    minimum: int
    maximum: int
    metrics: tuple[MetricAnswer, ...]
    ruling: str
    """The metric that asks for most; empty where none says anything."""
    asked: int | None
    """What the metrics ask for before limits; None where nothing may be concluded."""
    allowed: int | None
    """What minimum, maximum and the rates leave of that at once, without memory of earlier recommendations."""
    holds: tuple[Hold, ...]
    own_desired: int
    """`status.desiredReplicas`."""
    own_conditions: tuple[str, ...]
    """`type=status reason: message`, as the controller wrote them."""
    agrees: bool
    """Whether the controller's number is what is computed, or its conditions say what keeps it from that."""
    last_scaled_seconds: float | None
    unknown: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """Return it for `--json`."""
        return asdict(self)


def why_not_scaled(
    autoscaler: Object,
    target: Target,
    pods: Sequence[Object],
    metrics: Mapping[str, Object],
    now: float,
) -> WhyNotScaled:
    """Answer for one autoscaler at one moment.

    Args:
        autoscaler: the HorizontalPodAutoscaler, autoscaling/v2.
        target: what it scales.
        pods: of the target's selector.
        metrics: PodMetrics by the pod's name.
        now: the cluster's clock, unix seconds.
    """
    spec, status = autoscaler["spec"], autoscaler.get("status") or {}
    least, most = int(spec.get("minReplicas", 1)), int(spec["maxReplicas"])
    answers = tuple(
        _explained(one, spec.get("behavior"), pods, metrics, status, target, now)
        for one in spec.get("metrics") or ()
    )
    asked, ruling = _asked(answers, target.replicas)
    bounded = None if asked is None else _bounded(spec, target, asked, now, least, most)
    allowed = None if bounded is None else bounded.replicas
    if not target.replicas and least:
        asked = allowed = None
    elif not least <= target.replicas <= most:  # it goes there without a look at metrics
        allowed = min(max(target.replicas, least), most)
    metadata = autoscaler["metadata"]
    conditions = status.get("conditions") or ()
    held_up = "" if asked is None else _STABILISED[asked > target.replicas]
    holds = (
        *_holds(answers, ruling, target, asked, bounded, least, most),
        *_memory(conditions, held_up, allowed),
    )
    own = int(status.get("desiredReplicas", 0))
    return WhyNotScaled(
        autoscaler=f"{metadata['namespace']}/{metadata['name']}",
        target=target,
        as_of_seconds=now,
        minimum=least,
        maximum=most,
        metrics=answers,
        ruling=ruling,
        asked=asked,
        allowed=allowed,
        holds=holds,
        own_desired=own,
        own_conditions=tuple(
            f"{one['type']}={one['status']} {one.get('reason', '')}: {one.get('message', '')}"
            for one in conditions
        ),
        agrees=own == (target.replicas if allowed is None else allowed) or _remembers(conditions),
        last_scaled_seconds=unix_seconds(status.get("lastScaleTime")),
        unknown=ALWAYS_UNKNOWN,
    )


def _explained(
    spec: Object,
    behavior: Object | None,
    pods: Sequence[Object],
    metrics: Mapping[str, Object],
    status: Object,
    target: Target,
    now: float,
) -> MetricAnswer:
    """Explain a metric with the tolerance of the direction in which it points."""
    found = explain_metric(spec, pods, metrics, status, target, now)
    up = found.ratio is not None and found.ratio > 1.0
    rules = _rules(behavior, "scaleUp" if up else "scaleDown")
    return (
        found if rules == RULES else explain_metric(spec, pods, metrics, status, target, now, rules)
    )


def _rules(behavior: Object | None, direction: str) -> Rules:
    given = ((behavior or {}).get(direction) or {}).get("tolerance")
    return RULES if given is None else replace(RULES, tolerance=float(parse_quantity(given)))


def _asked(answers: Sequence[MetricAnswer], current: int) -> tuple[int | None, str]:
    """Return the largest proposal and its metric; where a metric is silent nothing is taken away."""
    best: tuple[int, str] | None = None
    for one in answers:
        if one.replicas is not None and (best is None or one.replicas > best[0]):
            best = one.replicas, one.name
    if best is None or (best[0] < current and any(one.problem for one in answers)):
        return None, "" if best is None else best[1]
    return best


def _bounded(spec: Object, target: Target, asked: int, now: float, least: int, most: int) -> Answer:
    ask = Ask(now, target.replicas, asked, least, most)
    behavior = spec.get("behavior")
    if behavior is None:
        return without_behavior(ask, (), DOWN_WINDOW_SECONDS)
    return with_behavior(ask, behavior, (), (), (), DOWN_WINDOW_SECONDS)


def _holds(
    answers: Sequence[MetricAnswer],
    ruling: str,
    target: Target,
    asked: int | None,
    bounded: Answer | None,
    least: int,
    most: int,
) -> tuple[Hold, ...]:
    found: list[Hold] = []
    if not target.replicas and least:
        text = f"{target.kind} {target.name} has no replicas: scaling is disabled"
        found.append(Hold("disabled", text, None))
    elif not least <= target.replicas <= most:
        bound = "minimum" if target.replicas < least else "maximum"
        text = f"{target.kind} {target.name} is beyond its {bound}, so metrics are not looked at"
        return (Hold(bound, text, asked),)
    for one in answers:
        if one.problem:
            found.append(Hold("silent metric", f"{one.name} says nothing: {one.problem}", None))
        elif one.name == ruling and one.within_tolerance and one.without_tolerance != one.replicas:
            text = f"{one.name} is {one.ratio:g} times its target, within the tolerance"
            found.append(Hold("tolerance", text, one.without_tolerance))
    if bounded is not None and bounded.limited[0]:
        reason, message = bounded.limited[1:]
        found.append(Hold(_LIMITS[reason], message, asked))
    return tuple(found)


_LIMITS = {
    "TooFewReplicas": "minimum",
    "TooManyReplicas": "maximum",
    "ScaleUpLimit": "rate",
    "ScaleDownLimit": "rate",
    "DesiredWithinRange": "range",
}
_STABILISED = ("ScaleDownStabilized", "ScaleUpStabilized")
"""What a condition says of a number that would fall, and of one that would rise."""


def _memory(conditions: Sequence[Object], reason: str, allowed: int | None) -> tuple[Hold, ...]:
    """Return the stabilisation that the controller's own conditions tell of, for the direction that is asked for."""
    return tuple(
        Hold(
            "stabilisation",
            str(one.get("message", "")),
            allowed,
            unix_seconds(one.get("lastTransitionTime")),
        )
        for one in conditions
        if one.get("reason") == reason
    )


def _remembers(conditions: Sequence[Object]) -> bool:
    """Say whether the controller's conditions tell that earlier recommendations or scalings hold it back."""
    reasons = {str(one.get("reason")) for one in conditions if one.get("status") == "True"}
    return bool(reasons & {*_STABILISED, "ScaleUpLimit", "ScaleDownLimit"})
