"""Which pods a ResourceQuota's scopes select.

Source: kubernetes/kubernetes pkg/quota/v1/evaluator/core/pods.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from twin.admission.findings import Findings
from twin.records import Object

_SCOPES = (
    "Terminating",
    "NotTerminating",
    "BestEffort",
    "NotBestEffort",
    "PriorityClass",
    "CrossNamespacePodAffinity",
)


_OF_PODS = frozenset(
    {
        "pods",
        *(f"{kind}{name}" for kind in ("", "requests.", "limits.") for name in ("cpu", "memory")),
    }
)
_PODS_ALONE = frozenset({"pods"})
_PAIRS = (("Terminating", "NotTerminating"), ("BestEffort", "NotBestEffort"))


def check(spec: Object, findings: Findings) -> None:
    """Check the scopes of a quota."""
    scopes = spec.get("scopes") or []
    _check_scopes(scopes, spec, findings, "spec.scopes")
    selector = spec.get("scopeSelector") or {}
    path = "spec.scopeSelector.matchExpressions"
    named = []
    for rule in selector.get("matchExpressions") or ():
        named.append(rule.get("scopeName") or "")
        _check_rule(rule, findings, path)
    if any(pair[0] in named and pair[1] in named for pair in _PAIRS):
        findings.bad("spec.scopeSelector", named, "conflicting scopes")


def _check_scopes(scopes: list[str], spec: Object, findings: Findings, path: str) -> None:
    if any(scope not in _SCOPES for scope in scopes):
        findings.bad(path, scopes, "unsupported scope")
        return
    if any(pair[0] in scopes and pair[1] in scopes for pair in _PAIRS):
        findings.bad(path, scopes, "conflicting scopes")
    for scope in scopes:
        known = _PODS_ALONE if scope == "BestEffort" else _OF_PODS
        if any(name not in known and "/" not in name for name in spec.get("hard") or ()):
            findings.bad(path, scopes, "unsupported scope applied to resource")


def _check_rule(rule: Object, findings: Findings, path: str) -> None:
    """Check a rule of a scope selector, which upstream names without its index."""
    scope, operator, values = rule.get("scopeName"), rule.get("operator"), rule.get("values") or []
    if scope not in _SCOPES:
        findings.bad(f"{path}.scopeName", scope or "", "unsupported scope")
    if operator not in ("In", "NotIn", "Exists", "DoesNotExist"):
        findings.bad(f"{path}.operator", operator or "", "not a valid selector operator")
    elif scope in _SCOPES and scope != "PriorityClass" and operator != "Exists":
        listed = ", ".join(
            f"ResourceQuotaScope{name}" for name in _SCOPES if name != "PriorityClass"
        )
        why = f"must be 'Exists' when scope is any of {listed}"
        findings.bad(f"{path}.operator", operator, why)
    elif operator in ("In", "NotIn") and not values:
        why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        findings.require(f"{path}.values", why)
    elif operator in ("Exists", "DoesNotExist") and values:
        why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        findings.bad(f"{path}.values", values, why)


def has_scopes(spec: Object) -> bool:
    """True when a quota counts pods of some scopes alone."""
    return bool(spec.get("scopes") or (spec.get("scopeSelector") or {}).get("matchExpressions"))


def selects(spec: Object, pod: Object, qos: str) -> bool:
    """True when all scopes of a quota select a pod of this QoS class."""
    rules = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    rules += (spec.get("scopeSelector") or {}).get("matchExpressions") or []
    return all(_holds(rule, pod["spec"], qos) for rule in rules)


def _holds(rule: Object, spec: Object, qos: str) -> bool:
    match rule["scopeName"]:
        case "Terminating":
            return spec.get("activeDeadlineSeconds") is not None
        case "NotTerminating":
            return spec.get("activeDeadlineSeconds") is None
        case "BestEffort":
            return qos == "BestEffort"
        case "NotBestEffort":
            return qos != "BestEffort"
        case "PriorityClass":
            return _priority_class(rule, spec.get("priorityClassName") or "")
        case _:
            return any(map(_looks_elsewhere, _affinity_terms(spec)))


def _affinity_terms(spec: Object) -> Iterator[Object]:
    """Yield the terms by which a pod looks for other pods, or keeps away from them."""
    affinity = spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        yield from rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        weighted = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        yield from (one["podAffinityTerm"] for one in weighted)


def _looks_elsewhere(term: Object) -> bool:
    """True for a term that names other namespaces, or selects them."""
    return bool(term.get("namespaces")) or term.get("namespaceSelector") is not None


def _priority_class(rule: Object, name: str) -> bool:
    match rule["operator"]:
        case "In":
            return name in (rule.get("values") or ())
        case "NotIn":
            return name not in (rule.get("values") or ())
        case "Exists":
            return bool(name)
        case _:
            return not name
