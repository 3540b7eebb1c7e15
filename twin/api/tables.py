"""The Table form that kubectl prints; without it only NAME and AGE would be shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from twin.api.messages import Object

Column = tuple[str, Callable[[Object, float], Any]]


def wants_table(accept: str) -> bool:
    """Say whether a client asks for the Table form."""
    return "as=Table" in accept and "g=meta.k8s.io" in accept


def table(resource: str, objects: list[Object], metadata: Object, now: float) -> Object:
    """Return objects as a Table; `now` is cluster time, unix seconds."""
    columns = COLUMNS.get(resource, ())
    names: list[Column] = [("Name", _name), *columns, ("Age", _age)]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "columnDefinitions": [
            {
                "name": name,
                "type": "string",
                "format": "name" if name == "Name" else "",
                "description": name,
                "priority": 0,
            }
            for name, _ in names
        ],
        "rows": [
            {
                "cells": [cell(obj, now) for _, cell in names],
                "object": {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": obj["metadata"],
                },
            }
            for obj in objects
        ],
    }


def duration(seconds: float) -> str:
    """Write an age as kubectl does."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole}s"
    if whole < 600:
        return f"{whole // 60}m{whole % 60}s" if whole % 60 else f"{whole // 60}m"
    if whole < 3 * 3600:
        return f"{whole // 60}m"
    if whole < 48 * 3600:
        return f"{whole // 3600}h"
    return f"{whole // 86400}d"


def _name(obj: Object, _now: float) -> str:
    name: str = obj["metadata"]["name"]
    return name


def _age(obj: Object, now: float) -> str:
    created = obj["metadata"].get("creationTimestamp")
    return (
        "<unknown>" if not created else duration(now - datetime.fromisoformat(created).timestamp())
    )


def _pod_ready(obj: Object, _now: float) -> str:
    statuses = obj["status"].get("containerStatuses") or []
    return f"{sum(bool(one.get('ready')) for one in statuses)}/{len(obj['spec'].get('containers', []))}"


def _pod_status(obj: Object, _now: float) -> str:
    status = obj["status"]
    if obj["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for one in status.get("containerStatuses") or []:
        state = one.get("state") or {}
        detail = state.get("waiting") or state.get("terminated") or {}
        if detail.get("reason"):
            return str(detail["reason"])
    return str(status.get("reason") or status.get("phase", "Unknown"))


def _pod_restarts(obj: Object, _now: float) -> str:
    return str(
        sum(one.get("restartCount", 0) for one in obj["status"].get("containerStatuses") or [])
    )


def _node_status(obj: Object, _now: float) -> str:
    ready = {one["type"]: one["status"] for one in obj["status"].get("conditions", [])}.get("Ready")
    text = "Ready" if ready == "True" else "NotReady"
    return f"{text},SchedulingDisabled" if obj["spec"].get("unschedulable") else text


def _ready_of(obj: Object, _now: float) -> str:
    return f"{obj['status'].get('readyReplicas', 0)}/{obj['spec'].get('replicas', 0)}"


def _path(*path: str, default: Any = "") -> Callable[[Object, float], Any]:
    def read(obj: Object, _now: float) -> Any:
        value: Any = obj
        for part in path:
            value = value.get(part) if isinstance(value, Mapping) else None
            if value is None:
                return default
        return value

    return read


def _completions(obj: Object, _now: float) -> str:
    return f"{obj['status'].get('succeeded', 0)}/{obj['spec'].get('completions', 1)}"


def _involved(obj: Object, _now: float) -> str:
    involved = obj.get("involvedObject", {})
    return f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"


COLUMNS: Mapping[str, tuple[Column, ...]] = {
    "pods": (("Ready", _pod_ready), ("Status", _pod_status), ("Restarts", _pod_restarts)),
    "nodes": (
        ("Status", _node_status),
        ("Roles", lambda _obj, _now: "<none>"),
        ("Version", _path("status", "nodeInfo", "kubeletVersion")),
    ),
    "deployments": (
        ("Ready", _ready_of),
        ("Up-to-date", _path("status", "updatedReplicas", default=0)),
        ("Available", _path("status", "availableReplicas", default=0)),
    ),
    "replicasets": (
        ("Desired", _path("spec", "replicas", default=0)),
        ("Current", _path("status", "replicas", default=0)),
        ("Ready", _path("status", "readyReplicas", default=0)),
    ),
    "jobs": (("Completions", _completions),),
    "events": (
        ("Type", _path("type")),
        ("Reason", _path("reason")),
        ("Object", _involved),
        ("Message", _path("message")),
    ),
    "namespaces": (("Status", _path("status", "phase")),),
}
