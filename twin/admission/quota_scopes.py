"""Which pods a ResourceQuota's scopes select.

Source: kubernetes/kubernetes pkg/quota/v1/evaluator/core/pods.go.
"""

from __future__ import annotations

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


def check(spec: Object, findings: Findings) -> None:
    """Check the scopes of a quota."""
    for index, scope in enumerate(spec.get("scopes") or ()):
        if scope not in _SCOPES:
            findings.bad(f"spec.scopes[{index}]", scope, "unsupported scope")
    selector = spec.get("scopeSelector") or {}
    for index, rule in enumerate(selector.get("matchExpressions") or ()):
        path = f"spec.scopeSelector.matchExpressions[{index}]"
        if rule.get("scopeName") not in _SCOPES:
            findings.bad(f"{path}.scopeName", rule.get("scopeName"), "unsupported scope")
        if rule.get("operator") not in ("In", "NotIn", "Exists", "DoesNotExist"):
            findings.bad(f"{path}.operator", rule.get("operator"), "not a valid selector operator")


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
            return False


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
