"""HorizontalPodAutoscalers of autoscaling/v1 to and from v2, the form in which they are kept.

`kubectl autoscale` and `kubectl get hpa.v1.autoscaling` use v1, which knows one CPU target; what it
cannot say travels in annotations, as upstream does (kubernetes/kubernetes
pkg/apis/autoscaling/v1/conversion.go). Guarantee: to_v2(to_v1(obj)) is obj but for the annotations.
"""

from __future__ import annotations

import json

from twin.records import Object

_METRICS = "autoscaling.alpha.kubernetes.io/metrics"
_BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
_CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
_ALL = (_METRICS, _BEHAVIOR, _CONDITIONS, _CURRENT)


def to_v1(obj: Object) -> Object:
    """Return an autoscaling/v2 object as autoscaling/v1."""
    spec, status = dict(obj.get("spec") or {}), dict(obj.get("status") or {})
    metadata = dict(obj.get("metadata") or {})
    notes = dict(metadata.get("annotations") or {})
    others = [metric for metric in spec.pop("metrics", None) or () if not _is_cpu(metric)]
    target = next(filter(_is_cpu, (obj.get("spec") or {}).get("metrics") or ()), None)
    if target is not None:
        target_ratio = target["resource"]["target"]["averageUtilization"]
        spec["targetCPUUtilizationPercentage"] = target_ratio
    for key, value in (
        (_METRICS, others),
        (_BEHAVIOR, spec.pop("behavior", None)),
        (_CONDITIONS, status.pop("conditions", None)),
    ):
        if value:
            notes[key] = json.dumps(value, separators=(",", ":"))
    rest = []
    for metric in status.pop("currentMetrics", None) or ():
        current = (metric.get("resource") or {}).get("current") or {}
        if (metric.get("resource") or {}).get("name") == "cpu" and "averageUtilization" in current:
            status["currentCPUUtilizationPercentage"] = current["averageUtilization"]
        rest.append(metric)
    if rest:
        notes[_CURRENT] = json.dumps(rest, separators=(",", ":"))
    if notes:
        metadata["annotations"] = notes
    status = {"currentReplicas": 0, "desiredReplicas": 0, **status}
    return {**obj, "apiVersion": "autoscaling/v1", "metadata": metadata, "spec": spec,
            "status": status}  # fmt: skip


def to_v2(obj: Object) -> Object:
    """Return an autoscaling/v1 object as autoscaling/v2; annotations of no use are dropped."""
    spec, metadata = dict(obj.get("spec") or {}), dict(obj.get("metadata") or {})
    status = dict(obj.get("status") or {})
    notes = dict(metadata.get("annotations") or {})
    stored_metrics = _read(notes.get(_METRICS))
    metrics = list(stored_metrics) if isinstance(stored_metrics, list) else []
    percent = spec.pop("targetCPUUtilizationPercentage", None)
    if percent is not None:
        target = {"type": "Utilization", "averageUtilization": percent}
        metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}, *metrics]
    if metrics:
        spec["metrics"] = metrics
    behavior = _read(notes.get(_BEHAVIOR))
    if behavior:
        spec["behavior"] = behavior
    status.pop("currentCPUUtilizationPercentage", None)
    for field, key in (("conditions", _CONDITIONS), ("currentMetrics", _CURRENT)):
        value = _read(notes.get(key))
        if value:
            status[field] = value
    for key in _ALL:
        notes.pop(key, None)
    if "annotations" in metadata:
        metadata["annotations"] = notes
    return {**obj, "apiVersion": "autoscaling/v2", "metadata": metadata, "spec": spec,
            **({"status": status} if status else {})}  # fmt: skip


def _is_cpu(metric: Object) -> bool:
    resource = metric.get("resource") or {}
    return resource.get("name") == "cpu" and "averageUtilization" in resource.get("target", {})


def _read(text: str | None) -> object:
    """Return what an annotation holds; a broken one holds nothing, as upstream."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return None
