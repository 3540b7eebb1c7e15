"""Whether pods may use a flavor: their tolerations, node selector and required node affinity against its nodes.

Only labels that the flavor names count, since nothing is known of its nodes' other ones.
Source: concepts/resource_flavor.md. Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from twin.records import Object

_COUNTED = ("NoSchedule", "NoExecute")


def untolerated_taint(flavor: Object, pod_spec: Object) -> str:
    """Return the first taint of a flavor that neither it nor a pod tolerates; empty without one."""
    tolerations = [*(pod_spec.get("tolerations") or ()), *(flavor.get("tolerations") or ())]
    for taint in flavor.get("nodeTaints") or ():
        if taint.get("effect") in _COUNTED and not any(_tolerates(t, taint) for t in tolerations):
            pairs = f"Key:{taint['key']}, Value:{taint.get('value', '')}"
            return f"{{{pairs}, Effect:{taint['effect']}}}"
    return ""


def _tolerates(toleration: Object, taint: Object) -> bool:
    if toleration.get("effect") not in (None, "", taint["effect"]):
        return False
    if toleration.get("key") not in (None, "", taint["key"]):
        return False
    if toleration.get("operator") == "Exists":
        return True
    return bool(toleration.get("key")) and toleration.get("value", "") == taint.get("value", "")


def matches_flavor(pod_spec: Object, labels: Mapping[str, str]) -> bool:
    """Say whether node selector and affinity of a pod let it use nodes with these labels."""
    for key, value in (pod_spec.get("nodeSelector") or {}).items():
        if key in labels and labels[key] != value:
            return False
    affinity = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    terms = [
        [rule for rule in term.get("matchExpressions") or () if rule["key"] in labels]
        for term in required.get("nodeSelectorTerms") or ()
    ]
    if not terms or not all(terms):  # a term about other labels alone may match any of its nodes
        return True
    return any(all(_holds(rule, labels) for rule in term) for term in terms)


def _holds(rule: Object, labels: Mapping[str, str]) -> bool:
    value, values = labels[rule["key"]], rule.get("values") or []
    match rule["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return True
        case "Gt" | "Lt":
            return _compare(value, values, greater=rule["operator"] == "Gt")
    return False  # DoesNotExist


def _compare(value: str, values: list[str], *, greater: bool) -> bool:
    try:
        number, limit = int(value), int(values[0])
    except (ValueError, IndexError):
        return False
    return number > limit if greater else number < limit
