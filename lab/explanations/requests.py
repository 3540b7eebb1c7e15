"""Requests of a pod's spec, left out or cut; pure functions of Kubernetes JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lab.explanations.frozen_cluster import Object
from twin.intake import pod_shape
from twin.quantity import cpu_text, memory_text, millicores, whole

MEBIBYTE = 2**20


def with_requests(spec: Object, keeps: Callable[[str, Any], bool]) -> Object | None:
    """Return the spec with those requests alone that are kept; None where all are."""
    changed, dropped = dict(spec), False
    for group in ("containers", "initContainers"):
        containers = []
        for container in spec.get(group) or ():
            resources = container.get("resources") or {}
            kept = {}
            for member in ("requests", "limits"):
                amounts = resources.get(member) or {}
                kept[member] = {name: one for name, one in amounts.items() if keeps(name, one)}
                dropped |= member == "requests" and len(kept[member]) < len(amounts)
            containers.append({**container, "resources": {**resources, **kept}})
        if containers:
            changed[group] = containers
    overhead = spec.get("overhead") or {}
    if overhead:
        changed["overhead"] = {name: one for name, one in overhead.items() if keeps(name, one)}
        dropped |= len(changed["overhead"]) < len(overhead)
    return changed if dropped else None


def less(spec: Object, resource: str, most: int) -> Object | None:
    """Return the spec with requests of a resource cut until the pod asks for `most` at most, the largest first.

    None where what is left would be nothing.
    """
    measure, write = AMOUNT[resource]
    line = 0 if resource == "cpu" else 1
    changed = spec
    for _ in range(64):
        asked = int(pod_shape(changed).needs.amounts[line])
        if asked <= most:
            return changed
        place = _largest_request(changed, resource)
        if place is None:
            return None
        group, index = place
        amounts = changed[group][index]["resources"]["requests"]
        left = measure(amounts[resource]) - (asked - most)
        if left <= 0 and len(changed["containers"]) == 1:
            return None
        cut = {**amounts, resource: write(max(left, 1 if resource == "cpu" else MEBIBYTE))}
        containers = list(changed[group])
        resources = {**containers[index]["resources"], "requests": cut}
        containers[index] = {**containers[index], "resources": resources}
        changed = {**changed, group: containers}
        if int(pod_shape(changed).needs.amounts[line]) == asked:
            return None
    return None


def _largest_request(spec: Object, resource: str) -> tuple[str, int] | None:
    measure, _ = AMOUNT[resource]
    sized = [
        (measure(amount), group == "containers", group, index)
        for group in ("containers", "initContainers")
        for index, container in enumerate(spec.get(group) or ())
        if (amount := ((container.get("resources") or {}).get("requests") or {}).get(resource))
    ]
    return max(sized)[2:] if sized else None


def _memory_down(amount: int) -> str:
    """Return a memory amount in whole MiB, rounded down."""
    return memory_text(max(1, amount // MEBIBYTE) * MEBIBYTE)


AMOUNT: Mapping[str, tuple[Callable[[Any], int], Callable[[int], str]]] = {
    "cpu": (millicores, cpu_text),
    "memory": (whole, _memory_down),
}
