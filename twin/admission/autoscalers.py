"""Defaults and checks of HorizontalPodAutoscalers.

The defaults are those of kubernetes/kubernetes pkg/apis/autoscaling/*/defaults.go, the checks those of
pkg/apis/autoscaling/validation/validation.go.
"""

from __future__ import annotations

import copy

from inputs.quantities import parse_quantity
from twin.admission import rules as values
from twin.admission.findings import Findings
from twin.admission.metadata import path_segment_problem
from twin.records import Object

_UP: Object = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
_DOWN: Object = {
    "selectPolicy": "Max",
    "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
}
_CPU_80: Object = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
_SOURCES = {
    "ContainerResource": "containerResource",
    "External": "external",
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
}
_TARGETS = ("Utilization", "Value", "AverageValue")
_LONGEST_WINDOW, _LONGEST_PERIOD = 3_600, 1_800


def autoscaler(obj: Object, findings: Findings) -> None:
    """Default and check a HorizontalPodAutoscaler."""
    spec = obj.setdefault("spec", {})
    target = spec.setdefault("scaleTargetRef", {})
    _check_reference(target, findings, "spec.scaleTargetRef")
    version = target.get("apiVersion") or ""
    if "/" not in version and target.get("kind") != "ReplicationController":
        why = "apiVersion must specify API group"
        findings.bad("spec.scaleTargetRef.apiVersion", version, why)
    least, most = spec.setdefault("minReplicas", 1), spec.get("maxReplicas", 0)
    findings.count("spec.minReplicas", least, 1)
    if most < 1:
        findings.require("spec.maxReplicas", "must be set and greater than 0")
    if most < least:
        findings.bad("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`")
    if not spec.get("metrics"):
        spec["metrics"] = [copy.deepcopy(_CPU_80)]
    for index, metric in enumerate(spec["metrics"]):
        _metric(f"spec.metrics[{index}]", metric, findings)
    kinds = {metric.get("type") for metric in spec["metrics"]}
    if least == 0 and not kinds & {"Object", "External"}:
        why = "must specify at least one Object or External metric to support scaling to zero "
        findings.forbid("spec.metrics", f"{why}replicas")
    behavior = spec.get("behavior")
    if behavior is not None:
        behavior["scaleUp"] = _rules("scaleUp", behavior.get("scaleUp"), _UP, findings)
        behavior["scaleDown"] = _rules("scaleDown", behavior.get("scaleDown"), _DOWN, findings)
    obj.setdefault("status", {"desiredReplicas": 0, "currentMetrics": None})


def _check_reference(reference: Object, findings: Findings, path: str) -> None:
    for field in ("kind", "name"):
        _check_segment(reference.get(field) or "", findings, f"{path}.{field}")
    version = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        why = f"unexpected GroupVersion string: {version}"
        findings.bad(f"{path}.apiVersion", version, why)


def _check_segment(name: str, findings: Findings, path: str, why: str = "") -> None:
    """Check a name that stands in a path."""
    if not name:
        findings.require(path, why)
    elif path_segment_problem(name):
        character = "/" if "/" in name else "%"
        findings.bad(path, name, f"may not contain '{character}'")


def _metric(path: str, metric: Object, findings: Findings) -> None:
    kind = metric.get("type") or ""
    field = _SOURCES.get(kind)
    for other in _SOURCES.values():
        if other != field and metric.get(other) is not None and field in metric:
            findings.forbid(f"{path}.{other}", "must populate the given metric source only")
    if not kind:
        findings.require(f"{path}.type", "must specify a metric source type")
    if field is None:
        findings.unsupported(f"{path}.type", kind, _SOURCES)
        return
    source = metric.get(field)
    if not isinstance(source, dict):
        findings.require(f"{path}.{field}", "must populate information for the given metric source")
        return
    where, target = f"{path}.{field}", source.get("target") or {}
    if field in ("resource", "containerResource"):
        if not source.get("name"):
            findings.require(f"{where}.name", "must specify a resource name")
        if field == "containerResource" and not source.get("container"):
            findings.require(f"{where}.container", "must specify a container")
    else:
        name = (source.get("metric") or {}).get("name") or ""
        _check_segment(name, findings, f"{where}.metric.name", "must specify a metric name")
    if field == "object":
        _check_reference(source.get("describedObject") or {}, findings, f"{where}.describedObject")
    _check_target(field, target, findings, f"{where}.target")


def _check_target(field: str, target: Object, findings: Findings, path: str) -> None:
    """Check what a metric is held against."""
    kind = target.get("type")
    if not kind:
        findings.require(f"{path}.type", "must specify a metric target type")
    elif kind not in _TARGETS:
        findings.bad(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue")
    use, average = target.get("averageUtilization"), target.get("averageValue")
    value = target.get("value")
    if use is not None and use < 1:
        findings.bad(f"{path}.averageUtilization", use, "must be greater than 0")
    for name, stated in (("averageValue", average), ("value", value)):
        if stated is not None and parse_quantity(stated) <= 0:
            findings.bad(f"{path}.{name}", str(stated), "must be positive")
    _check_one_target(field, target, findings, path)


def _check_one_target(field: str, target: Object, findings: Findings, path: str) -> None:
    """Check that a metric has one target of the kinds that it can have."""
    use, average = target.get("averageUtilization"), target.get("averageValue")
    value = target.get("value")
    if field in ("resource", "containerResource"):
        if use is not None and average is not None:
            why = "may not set both a target raw value and a target utilization"
            findings.forbid(f"{path}.averageValue", why)
        elif use is None and average is None:
            why = "must set either a target raw value or a target utilization"
            findings.require(f"{path}.averageUtilization", why)
    elif field == "pods":
        if average is None:
            why = "must specify a positive target averageValue"
            findings.require(f"{path}.averageValue", why)
    elif value is not None and average is not None:
        why = "may not set both a target value for metric and a per-pod target"
        findings.forbid(f"{path}.value", why)
    elif value is None and average is None:
        why = "must set either a target value for metric or a per-pod target"
        findings.require(f"{path}.averageValue", why)


def _rules(name: str, stated: Object | None, defaults: Object, findings: Findings) -> Object:
    rules = {**copy.deepcopy(defaults), **(stated or {})}
    path = f"spec.behavior.{name}"
    window = rules.get("stabilizationWindowSeconds")
    if window is not None and window < 0:
        why = "must be greater than or equal to zero"
        findings.bad(f"{path}.stabilizationWindowSeconds", window, why)
    elif window is not None and window > _LONGEST_WINDOW:
        why = f"must be less than or equal to {_LONGEST_WINDOW}"
        findings.bad(f"{path}.stabilizationWindowSeconds", window, why)
    words = ("Disabled", "Max", "Min")
    values.one_of(f"{path}.selectPolicy", rules["selectPolicy"], words, findings)
    if not rules["policies"]:
        findings.require(f"{path}.policies", "must specify at least one Policy")
    for index, policy in enumerate(rules["policies"]):
        where, seconds = f"{path}.policies[{index}]", policy.get("periodSeconds", 0)
        values.one_of(f"{where}.type", policy.get("type"), ("Percent", "Pods"), findings)
        for field in ("value", "periodSeconds"):
            if policy.get(field, 0) <= 0:
                findings.bad(f"{where}.{field}", policy.get(field, 0), "must be greater than zero")
        if seconds > _LONGEST_PERIOD:
            why = f"must be less than or equal to {_LONGEST_PERIOD}"
            findings.bad(f"{where}.periodSeconds", seconds, why)
    return rules
