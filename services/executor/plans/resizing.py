"""Amounts of running pods: what they may be lowered to, and whether a pod shows what was wanted.

A pod keeps its quality-of-service class: of a Guaranteed pod request and limit fall together, of a Burstable
one either the CPU limit, never down to the request, or the memory request. What a container has no amount of
gets none, since it could not be taken away again. Source: Kubernetes, "Resize CPU and Memory Resources assigned
to Containers", Limitations.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal
from typing import Any

from inputs.quantities import cpu_text, memory_text, parse_quantity
from services.executor.facts import ContainerFacts, PodFacts
from services.pod_requests import IN_PROGRESS, RESIZE_PENDING

Amounts = dict[str, dict[str, str]]
"""`requests` and `limits` of a container, only what changes."""
LEAST_MILLICORES = 10
LEAST_BYTES = 16 << 20
_MEBIBYTE = 1 << 20
_STUCK = frozenset({"Infeasible", "Error"})


def lowered_cpu(pod: PodFacts, container: ContainerFacts, ratio: float, margin: float) -> Amounts:
    """Return a lower CPU limit, at least `ratio` of today's and above the peak; empty: none is possible."""
    limit, request = container.limits.get("cpu"), container.requests.get("cpu")
    if limit is None or container.peak_cores is None or "cpu" in container.restarts_for:
        return {}
    now = _millicores(limit)
    wanted = max(
        math.ceil(round(container.peak_cores * (1.0 + margin) * 1000, 6)),
        math.ceil(round(ratio * now, 6)),
        LEAST_MILLICORES,
    )
    if pod.qos != "Guaranteed":
        wanted = max(wanted, _millicores(request or limit) + 1)
    if wanted >= now:
        return {}
    text = cpu_text(wanted)
    both = {"requests": {"cpu": text}} if pod.qos == "Guaranteed" else {}
    return {**both, "limits": {"cpu": text}}


def lowered_memory(
    pod: PodFacts, container: ContainerFacts, ratio: float, margin: float, *, limits_fall: bool
) -> Amounts:
    """Return a lower memory request, of a Guaranteed pod with its limit; empty: none is possible."""
    request = container.requests.get("memory")
    if request is None or container.peak_bytes is None or "memory" in container.restarts_for:
        return {}
    now = int(parse_quantity(request))
    wanted = max(container.peak_bytes * (1.0 + margin), ratio * now, LEAST_BYTES)
    whole = math.ceil(round(wanted / _MEBIBYTE, 6)) * _MEBIBYTE
    if whole >= now or (pod.qos == "Guaranteed" and not limits_fall):
        return {}
    text = memory_text(whole)
    both = {"limits": {"memory": text}} if pod.qos == "Guaranteed" else {}
    return {**both, "requests": {"memory": text}}


def resize_patch(amounts: dict[str, Amounts]) -> dict[str, Any]:
    """Return the strategic merge patch that gives containers these amounts."""
    containers = [{"name": name, "resources": each} for name, each in amounts.items()]
    return {"spec": {"containers": containers}}


def former_amounts(container: ContainerFacts, amounts: Amounts) -> Amounts:
    """Return what a container has now of the amounts that change."""
    held = {"requests": container.requests, "limits": container.limits}
    return {
        field: {name: held[field][name] for name in each if name in held[field]}
        for field, each in amounts.items()
    }


def shows_amounts(current: dict[str, Any], patch: str) -> bool:
    """Say whether a pod's spec asks for the amounts of a patch."""
    asked = {one["name"]: one.get("resources") or {} for one in current["spec"]["containers"]}
    return all(
        _equals((asked.get(one["name"], {}).get(field) or {}).get(name), text)
        for one in json.loads(patch)["spec"]["containers"]
        for field, each in one["resources"].items()
        for name, text in each.items()
    )


def is_in_force(current: dict[str, Any]) -> bool:
    """Say whether its kubelet has carried out what a pod's spec asks for."""
    return not any(
        one["type"] in {RESIZE_PENDING, IN_PROGRESS} for one in _resize_conditions(current)
    )


def resize_trouble(current: dict[str, Any], since_seconds: float, times: dict[str, float]) -> str:
    """Return what went wrong with a resized pod: its kubelet refuses, or a container ran out of memory since.

    Args:
        current: the pod as the API shows it.
        since_seconds: when it was resized, cluster time.
        times: by container, when one was last killed for lack of memory.
    """
    name = f"{current['metadata'].get('namespace', '')}/{current['metadata'].get('name', '')}"
    for condition in _resize_conditions(current):
        if condition.get("reason") in _STUCK:
            return f"{name}: {condition['reason']}: {condition.get('message', '')}"[:300]
    killed = [container for container, seconds in times.items() if seconds >= since_seconds]
    return f"{name}: {killed[0]} ran out of memory" if killed else ""


def out_of_memory_ends(current: dict[str, Any]) -> dict[str, str]:
    """Return, by container, when one was last killed for lack of memory, as the API writes times."""
    ends: dict[str, str] = {}
    for status in (current.get("status") or {}).get("containerStatuses") or ():
        for state in (status.get("lastState") or {}, status.get("state") or {}):
            ended = state.get("terminated") or {}
            if ended.get("reason") == "OOMKilled" and ended.get("finishedAt"):
                ends[str(status.get("name", ""))] = str(ended["finishedAt"])
    return ends


def _resize_conditions(current: dict[str, Any]) -> list[dict[str, Any]]:
    conditions = (current.get("status") or {}).get("conditions") or ()
    return [
        one
        for one in conditions
        if one.get("type") in {RESIZE_PENDING, IN_PROGRESS} and one.get("status") == "True"
    ]


def _equals(shown: Any, wanted: str) -> bool:
    try:
        return shown is not None and parse_quantity(str(shown)) == parse_quantity(wanted)
    except ValueError:
        return False


def _millicores(text: str) -> int:
    return int(parse_quantity(text) * Decimal(1000))
