"""Cells of tables: what a column is, and readings that several kinds have in common."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

Object = dict[str, Any]
Read = Callable[[Object, float], Any]
NONE = "<none>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column; `wide` ones are shown with `-o wide` only."""

    name: str
    read: Read
    wide: bool = False
    type: str = "string"


def duration(seconds: float) -> str:
    """Write an age as kubectl does."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole}s"
    if whole < 600:
        return f"{whole // 60}m{whole % 60}s" if whole % 60 else f"{whole // 60}m"
    if whole < 3 * 3600:
        return f"{whole // 60}m"
    if whole < 8 * 3600:
        minutes = whole // 60 % 60
        return f"{whole // 3600}h{minutes}m" if minutes else f"{whole // 3600}h"
    if whole < 48 * 3600:
        return f"{whole // 3600}h"
    if whole < 8 * 86400:
        hours = whole // 3600 % 24
        return f"{whole // 86400}d{hours}h" if hours else f"{whole // 86400}d"
    if whole < 2 * 365 * 86400:
        return f"{whole // 86400}d"
    return f"{whole // (365 * 86400)}y{whole // 86400 % 365}d"


def text_since(text: Any, now: float) -> str:
    """Write how long ago a time of the API is."""
    try:
        return duration(now - datetime.fromisoformat(text).timestamp())
    except (TypeError, ValueError):
        return "<unknown>"


def value_at(obj: Any, path: str, default: Any = None) -> Any:
    """Return the value at a dotted path; `default` when there is none."""
    for part in path.split("."):
        if isinstance(obj, list):  # the first one counts
            obj = obj[0] if obj else None
        obj = obj.get(part) if isinstance(obj, Mapping) else None
        if obj is None:
            return default
    return obj


def path_cell(path: str, default: Any = "") -> Read:
    """Read the value at a dotted path."""
    return lambda obj, _now: value_at(obj, path, default)


def ago_cell(path: str) -> Read:
    """Read how long ago a time at a dotted path is."""
    return lambda obj, now: text_since(value_at(obj, path), now) if value_at(obj, path) else NONE


def name_cell(obj: Object, _now: float) -> Any:
    """Return the name of an object."""
    return obj["metadata"]["name"]


def age_cell(obj: Object, now: float) -> str:
    """Return the age of an object."""
    return text_since(obj["metadata"].get("creationTimestamp"), now)


def readiness_gates(obj: Object, _now: float) -> str:
    """Return how many of a pod's readiness gates are open, and of how many."""
    gates = value_at(obj, "spec.readinessGates") or ()
    conditions = value_at(obj, "status.conditions") or ()
    true = {one.get("type") for one in conditions if one.get("status") == "True"}
    opened = sum(gate.get("conditionType") in true for gate in gates)
    return f"{opened}/{len(gates)}" if gates else "<none>"


def labels_text(pairs: Any) -> str:
    """Return pairs in one line."""
    return ",".join(f"{key}={value}" for key, value in (pairs or {}).items()) or NONE


def selector_text(selector: Any) -> str:
    """Return a label selector in one line, as `kubectl get -o wide` shows it."""
    parts = [f"{key}={value}" for key, value in (value_at(selector, "matchLabels") or {}).items()]
    for rule in value_at(selector, "matchExpressions") or ():
        values, operator = ",".join(rule.get("values") or ()), rule.get("operator", "")
        named = {"Exists": rule["key"], "DoesNotExist": f"!{rule['key']}"}
        parts.append(named.get(operator, f"{rule['key']} {operator.lower()} ({values})"))
    return ",".join(parts) or NONE
