"""Which nodes a pod may go to by their own objects: cordons, taints, selectors and affinity.

NodeUnschedulable, TaintToleration and NodeAffinity in the scheduler's own order; the first that
refuses a node gives the reason. The texts are v1.36's, which name no taint
(pkg/scheduler/framework/plugins/{nodeunschedulable,tainttoleration,nodeaffinity}).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from twin.admission.pods import NOT_READY, UNREACHABLE
from twin.records import NodeRecord, Object, PodShape

UNSCHEDULABLE_TAINT: Object = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
UNSCHEDULABLE = "node(s) were unschedulable"
TAINTED = "node(s) had untolerated taint(s)"
AFFINITY = "node(s) didn't match Pod's node affinity/selector"
NAMED_ELSEWHERE = "node(s) didn't satisfy plugin(s) [NodeAffinity]"
"""What nodes are out for that NodeAffinity rules out by their names, before any is looked at (preFilter)."""
CONFLICT = "pod affinity terms conflict"
RULES = ("NodeUnschedulable", "TaintToleration", "NodeAffinity")


def refusal(node: NodeRecord, shape: PodShape, rules: Collection[str] = RULES) -> str:
    """Return why `node` is out for pods of this shape, in the scheduler's words, or nothing."""
    if "NodeAffinity" in rules and is_named_elsewhere(node, shape.node_affinity):
        return NAMED_ELSEWHERE
    if (
        "NodeUnschedulable" in rules
        and node.unschedulable
        and not is_tolerated(UNSCHEDULABLE_TAINT, shape.tolerations)
    ):
        return UNSCHEDULABLE
    if "TaintToleration" in rules:
        for taint in node.taints:
            if taint["effect"] != "PreferNoSchedule" and not is_tolerated(taint, shape.tolerations):
                return TAINTED
        if node.ready_status != "True" and not _has_status_taint(node):
            return TAINTED
    if "NodeAffinity" in rules:
        if not is_selected(node, shape.node_selector):
            return AFFINITY
        if shape.node_affinity and not any(term_selects(t, node) for t in shape.node_affinity):
            return AFFINITY
    return ""


def is_tolerated(taint: Mapping[str, object], tolerations: Sequence[Object]) -> bool:
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


def is_selected(node: NodeRecord, selector: Mapping[str, str]) -> bool:
    """True when the node has every label of a nodeSelector."""
    return all(node.labels.get(key) == value for key, value in selector.items())


def term_selects(term: Object, node: NodeRecord) -> bool:
    """True when the node satisfies a node selector term; an empty term selects nothing."""
    rules = [(rule, node.labels.get(rule["key"])) for rule in term.get("matchExpressions") or ()]
    rules += [(rule, node.name) for rule in term.get("matchFields") or ()]
    return bool(rules) and all(_expression(rule, value) for rule, value in rules)


def is_named_elsewhere(node: NodeRecord, terms: Sequence[Object]) -> bool:
    """True when every term names its nodes (matchFields), and none of them this one."""
    for term in terms:
        names = _names(term)
        if names is None or node.name in names:
            return False
    return bool(terms)


def names_conflict(terms: Sequence[Object]) -> bool:
    """True when every term names its nodes, and none can be met: it names two at once."""
    return bool(terms) and all(_names(term) == set() for term in terms)


def _names(term: Object) -> set[str] | None:
    """Return the names of nodes that a term allows, None for one that names none."""
    given = [
        set(rule["values"])
        for rule in term.get("matchFields") or ()
        if rule["key"] == "metadata.name" and rule["operator"] == "In"
    ]
    return set.intersection(*given) if given else None


def _has_status_taint(node: NodeRecord) -> bool:
    return any(taint["key"] in (NOT_READY, UNREACHABLE) for taint in node.taints)


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
        case "Gt" | "Lt" as operator:
            number, limit = _integer(value), _integer(values[0] if values else None)
            if number is None or limit is None:
                return False
            return number > limit if operator == "Gt" else number < limit
        case _:
            return False


def _integer(text: str | None) -> int | None:
    try:
        return int(text) if text is not None else None
    except ValueError:
        return None
