"""The columns of HorizontalPodAutoscalers (kubernetes pkg/printers/internalversion/printers.go, formatHPAMetrics)."""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]
NONE, UNKNOWN = "<none>", "<unknown>"
_MOST = 2


def scale_target(obj: Object, _now: float) -> str:
    """Return what an autoscaler scales, as `Deployment/web`."""
    target = (obj.get("spec") or {}).get("scaleTargetRef") or {}
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def fewest_pods(obj: Object, _now: float) -> str:
    """Return the fewest pods as text, as a real server does."""
    fewest = (obj.get("spec") or {}).get("minReplicas")
    return "<unset>" if fewest is None else str(fewest)


def targets(obj: Object, _now: float) -> str:
    """Return current over target of the first two metrics, and how many more there are."""
    specs = (obj.get("spec") or {}).get("metrics") or ()
    known = (obj.get("status") or {}).get("currentMetrics") or ()
    texts = [_target(spec, _status_of(spec, known)) for spec in specs[:_MOST]]
    more = len(specs) - len(texts)
    return ", ".join(texts) + (f" + {more} more..." if more else "") if texts else NONE


def _target(spec: Object, current: Object) -> str:
    kind = spec.get("type", "")
    source = spec.get(_field(kind)) or {}
    target = source.get("target") or {}
    name = f"{source.get('name', '')}: " if kind in ("Resource", "ContainerResource") else ""
    if "averageUtilization" in target:
        percent = current.get("averageUtilization")
        now = UNKNOWN if percent is None else f"{percent}%"
        return f"{name}{now}/{target['averageUtilization']}%"
    if "averageValue" in target:
        mean = " (avg)" if kind in ("Object", "External") else ""
        return f"{name}{current.get('averageValue', UNKNOWN)}/{target['averageValue']}{mean}"
    return f"{name}{current.get('value', UNKNOWN)}/{target.get('value', UNKNOWN)}"


def _status_of(spec: Object, known: Any) -> Object:
    """Return the current values of a metric; empty when nobody has any."""
    kind = spec.get("type", "")
    field = _field(kind)
    for status in known:
        if status.get("type") == kind and _name(status, field) == _name(spec, field):
            current: Object = (status.get(field) or {}).get("current") or {}
            return current
    return {}


def _name(metric: Object, field: str) -> Any:
    """Return what tells metrics of one kind apart."""
    source = metric.get(field) or {}
    return source.get("name"), source.get("metric"), source.get("describedObject")


def _field(kind: str) -> str:
    return kind[:1].lower() + kind[1:]
