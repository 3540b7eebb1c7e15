"""LimitRange: defaults for containers without requests, and bounds on requests and limits.

Source: kubernetes/kubernetes plugin/pkg/admission/limitranger/admission.go, whose texts these are.
Guarantee: pure functions of the limits and the pod.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from inputs.quantities import parse_quantity
from twin.admission import rules
from twin.admission.amounts import STANDARD
from twin.admission.findings import Findings
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


_TYPES = ("Container", "PersistentVolumeClaim", "Pod")
_BOUNDS = ("min", "max", "default", "defaultRequest", "maxLimitRequestRatio")


def check(limits: list[Object], findings: Findings) -> None:
    """Check the completed entries of `spec.limits`."""
    types: list[str] = []
    for index, entry in enumerate(limits):
        path, kind = f"spec.limits[{index}]", entry.get("type") or ""
        if kind in types:
            findings.duplicate(f"{path}.type", kind)
        types.append(kind)
        if "/" not in kind and kind not in _TYPES:
            if not kind:
                rules.qualified_name(f"{path}.type", kind, findings)
            findings.bad(f"{path}.type", kind, "must be a standard limit type or fully qualified")
        for field in ("default", "defaultRequest") if kind == "Pod" else ():
            if entry.get(field):
                findings.forbid(f"{path}.{field}", "may not be specified when `type` is 'Pod'")
        if kind == "PersistentVolumeClaim" and not any(
            "storage" in (entry.get(field) or {}) for field in ("min", "max")
        ):
            why = "either minimum or maximum storage value is required, but neither was provided"
            findings.require(f"{path}.limits", why)
        names = dict.fromkeys(name for field in _BOUNDS for name in entry.get(field) or ())
        for name in names:
            _check_bounds(name, entry, findings, path)


def _check_bounds(name: str, entry: Object, findings: Findings, path: str) -> None:
    """Check that what an entry says of one resource can be met."""
    stated = {field: (entry.get(field) or {}).get(name) for field in _BOUNDS}
    for field in _BOUNDS:
        if stated[field] is not None:
            check_name(name, findings, f"{path}.{field}[{name}]")

    def ordered(low: str, high: str, where: str, words: str) -> None:
        less, more = stated[low], stated[high]
        if less is None or more is None or parse_quantity(less) <= parse_quantity(more):
            return
        findings.bad(f"{path}.{where}[{name}]", stated[where], words.format(less, more))

    ordered("min", "max", "min", "min value {} is greater than max value {}")
    ordered(
        "min",
        "defaultRequest",
        "defaultRequest",
        "min value {} is greater than default request value {}",
    )
    ordered(
        "defaultRequest",
        "max",
        "defaultRequest",
        "default request value {} is greater than max value {}",
    )
    ordered("defaultRequest", "default", "defaultRequest",
            "default request value {} is greater than default limit value {}")  # fmt: skip
    ordered("min", "default", "default", "min value {} is greater than default value {}")
    ordered("default", "max", "default", "default value {} is greater than max value {}")
    ratio, where = stated["maxLimitRequestRatio"], f"{path}.maxLimitRequestRatio[{name}]"
    if ratio is None:
        return
    if parse_quantity(ratio) < 1:
        findings.bad(where, str(ratio), f"ratio {ratio} is less than 1")
    low, high = stated["min"], stated["max"]
    if low is not None and high is not None and parse_quantity(low):
        most = parse_quantity(high) / parse_quantity(low)
        if parse_quantity(ratio) > most:
            why = f"ratio {ratio} is greater than max/min = {float(most):.6f}"
            findings.bad(where, str(ratio), why)


def check_name(name: str, findings: Findings, path: str) -> None:
    """Check the name of a resource that a limit or a quota is about."""
    if (
        "/" not in name
        and name not in STANDARD
        and not name.startswith(("hugepages-", "requests."))
    ):
        rules.qualified_name(path, name, findings)
        findings.bad(path, name, "must be a standard resource type or fully qualified")


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
