"""LimitRange: defaults for containers without requests, and bounds on requests and limits.

Source: kubernetes/kubernetes plugin/pkg/admission/limitranger/admission.go, whose texts these are.
Guarantee: pure functions of the limits and the pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from twin.quantity import parse_quantity
from twin.records import Object

ANNOTATION = "kubernetes.io/limit-ranger"


def complete(entry: Object) -> None:
    """Fill in what one entry of `spec.limits` leaves open, as the API's own defaults do."""
    if entry.get("type") != "Container":
        return
    limits = entry.get("default") or {}
    for name, most in (entry.get("max") or {}).items():
        limits.setdefault(name, most)
    requests = entry.get("defaultRequest") or {}
    for source in (limits, entry.get("min") or {}):
        for name, amount in source.items():
            requests.setdefault(name, amount)
    for field, amounts in (("default", limits), ("defaultRequest", requests)):
        if amounts:
            entry[field] = amounts


def fill(spec: Object, limits: Iterable[Object], metadata: Object) -> None:
    """Give containers of a pod the default limits and requests, and say so in an annotation."""
    entries = [entry for entry in limits if entry["type"] == "Container"]
    notes = []
    for container in spec.get("containers") or ():
        if not isinstance(container, dict):
            return  # validation names it
        resources = container.get("resources") or {}
        requests = dict(resources.get("requests") or {})
        capped = dict(resources.get("limits") or {})
        requests = {**capped, **requests}  # a limit without a request is the request too
        set_requests = _default(requests, entries, "defaultRequest")
        set_limits = _default(capped, entries, "default")
        if set_requests or set_limits:
            container["resources"] = {**resources, "requests": requests, "limits": capped}
            where = f"container {container.get('name', '')}"
            notes += [f"{', '.join(names)} {word} for {where}" for names, word in
                      ((set_requests, "request"), (set_limits, "limit")) if names]  # fmt: skip
    if notes:
        known = metadata.get("annotations") or {}
        text = f"LimitRanger plugin set: {'; '.join(notes)}"
        metadata["annotations"] = {**known, ANNOTATION: text}


def _default(amounts: Object, entries: Iterable[Object], field: str) -> list[str]:
    names = []
    for entry in entries:
        for name, amount in sorted((entry.get(field) or {}).items()):
            if name not in amounts:
                amounts[name] = amount
                names.append(name)
    return names


def violations(spec: Object, limits: Iterable[Object]) -> list[str]:
    """Return what a pod's containers break, in the plugin's words."""
    texts: list[str] = []
    resources = [container.get("resources") or {} for container in spec["containers"]]
    pairs = [(entry.get("requests") or {}, entry.get("limits") or {}) for entry in resources]
    for entry in limits:
        if entry["type"] == "Container":
            for requests, capped in pairs:
                texts += _limit_violations(entry, requests, capped, "Container")
        elif entry["type"] == "Pod":
            texts += _limit_violations(
                entry, _sum(a for a, _ in pairs), _sum(c for _, c in pairs), "Pod"
            )
    return texts


def _limit_violations(entry: Object, requests: Object, capped: Object, kind: str) -> list[str]:
    texts = []
    for name, least in sorted((entry.get("min") or {}).items()):
        text = f"minimum {name} usage per {kind} is {least}"
        if name not in requests:
            texts.append(f"{text}.  No request is specified")
        elif parse_quantity(requests[name]) < parse_quantity(least):
            texts.append(f"{text}, but request is {requests[name]}")
        if name in capped and parse_quantity(capped[name]) < parse_quantity(least):
            texts.append(f"{text}, but limit is {capped[name]}")
    for name, most in sorted((entry.get("max") or {}).items()):
        text = f"maximum {name} usage per {kind} is {most}"
        if name not in capped:
            texts.append(f"{text}.  No limit is specified")
        elif parse_quantity(capped[name]) > parse_quantity(most):
            texts.append(f"{text}, but limit is {capped[name]}")
        if name in requests and parse_quantity(requests[name]) > parse_quantity(most):
            texts.append(f"{text}, but request is {requests[name]}")
    for name, ratio in sorted((entry.get("maxLimitRequestRatio") or {}).items()):
        texts += _ratio(name, ratio, requests, capped, kind)
    return texts


def _ratio(name: str, ratio: str, requests: Object, capped: Object, kind: str) -> list[str]:
    text = f"{name} max limit to request ratio per {kind} is {ratio}"
    if name not in requests or not parse_quantity(requests[name]):
        return [f"{text}, but no request is specified or request is 0"]
    if name not in capped or not parse_quantity(capped[name]):
        return [f"{text}, but no limit is specified or limit is 0"]
    actual = parse_quantity(capped[name]) / parse_quantity(requests[name])
    if actual > parse_quantity(ratio):
        return [f"{text}, but provided ratio is {float(actual):.6f}"]
    return []


def _sum(entries: Iterable[Object]) -> Object:
    """Return sums over those containers that say something of a resource."""
    total: dict[str, Decimal] = {}
    for entry in entries:
        for name, amount in entry.items():
            total[name] = total.get(name, Decimal(0)) + parse_quantity(amount)
    return {name: format(amount.normalize(), "f") for name, amount in total.items()}
