"""Which nodes a pod may go to, apart from their free amounts: cordons, taints, selectors, affinity.

The order is the scheduler's own filter order, and the first rule that refuses a node is its reason.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from twin.admission.pods import NOT_READY, UNREACHABLE
from twin.records import NodeRecord, Object, PodShape

UNSCHEDULABLE_TAINT: Object = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
UNSCHEDULABLE = "node(s) were unschedulable"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"


def refusal(node: NodeRecord, shape: PodShape) -> str:
    """Return why `node` is out for pods of this shape, in the scheduler's words, or nothing."""
    if node.unschedulable and not tolerated(UNSCHEDULABLE_TAINT, shape.tolerations):
        return UNSCHEDULABLE
    for taint in node.taints:
        if taint["effect"] != "PreferNoSchedule" and not tolerated(taint, shape.tolerations):
            return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
    if node.ready_status != "True" and not _status_taint_shown(node):
        return f"node(s) had untolerated taint {{{NOT_READY}: }}"
    if not _selected(node, shape.node_selector):
        return AFFINITY
    if shape.node_affinity and not any(_term(node, term) for term in shape.node_affinity):
        return AFFINITY
    return ""


def tolerated(taint: Mapping[str, object], tolerations: Sequence[Object]) -> bool:
    """True when one of the tolerations covers the taint."""
    return any(covers(toleration, taint) for toleration in tolerations)


def covers(toleration: Object, taint: Mapping[str, object]) -> bool:
    """True when `toleration` matches the taint's key, effect and value."""
    key, effect = toleration.get("key"), toleration.get("effect")
    if (key and key != taint["key"]) or (effect and effect != taint["effect"]):
        return False
    if toleration.get("operator", "Equal") == "Exists":
        return True
    return bool(key) and toleration.get("value", "") == taint.get("value", "")


def _status_taint_shown(node: NodeRecord) -> bool:
    return any(taint["key"] in (NOT_READY, UNREACHABLE) for taint in node.taints)


def _selected(node: NodeRecord, selector: Mapping[str, str]) -> bool:
    return all(node.labels.get(key) == value for key, value in selector.items())


def _term(node: NodeRecord, term: Object) -> bool:
    rules = [(rule, node.labels.get(rule["key"])) for rule in term.get("matchExpressions") or ()]
    rules += [(rule, node.name) for rule in term.get("matchFields") or ()]
    return bool(rules) and all(_expression(rule, value) for rule, value in rules)


def _expression(rule: Object, value: str | None) -> bool:
    values = rule.get("values") or []
    match rule["operator"]:
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt":
            return value is not None and value.isdigit() and int(value) > int(values[0])
        case "Lt":
            return value is not None and value.isdigit() and int(value) < int(values[0])
        case _:
            return False
