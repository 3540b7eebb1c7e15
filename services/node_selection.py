"""Which nodes a pod may run on by what it asks of them: node selector and required node affinity.

Source: Kubernetes, "Assigning Pods to Nodes" and component-helpers' nodeaffinity: terms are alternatives, what a term
lists must all hold, an empty term matches nothing, and preferences forbid nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from services.kube_objects import Node, PodSpec

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def asks_for_nodes(spec: PodSpec) -> bool:
    """Say whether a pod may run on certain nodes alone."""
    return bool(spec.node_selector) or _required_terms(spec) is not None


def may_run_on(spec: PodSpec, node: Node) -> bool:
    """Say whether a node has what a pod asks for; what cannot be understood is not there."""
    labels = node.metadata.labels
    if any(labels.get(name) != value for name, value in spec.node_selector.items()):
        return False
    terms = _required_terms(spec)
    return terms is None or any(_term_holds(term, node) for term in terms)


def has_other_rules(spec: PodSpec) -> bool:
    """Say whether other pods decide where a pod may run: affinity to pods, or spread that is required."""
    affinity = spec.affinity or {}
    pods = (affinity.get("podAffinity") or {}, affinity.get("podAntiAffinity") or {})
    spread = any(
        one.get("whenUnsatisfiable", "DoNotSchedule") == "DoNotSchedule"
        for one in spec.topology_spread_constraints
    )
    return spread or any(rule.get(REQUIRED) for rule in pods)


def _required_terms(spec: PodSpec) -> list[Any] | None:
    """Return the terms of the required node affinity; None: there is none."""
    required = ((spec.affinity or {}).get("nodeAffinity") or {}).get(REQUIRED)
    return None if required is None else list(required.get("nodeSelectorTerms") or ())


def _term_holds(term: Mapping[str, Any], node: Node) -> bool:
    expressions = term.get("matchExpressions") or ()
    fields = term.get("matchFields") or ()
    if not (expressions or fields):
        return False
    own = {"metadata.name": node.metadata.name}
    return all(_holds(one, node.metadata.labels) for one in expressions) and all(
        _holds(one, own) for one in fields
    )


def _holds(rule: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    present = labels.get(str(rule.get("key", "")))
    values = list(rule.get("values") or ())
    match rule.get("operator"):
        case "In":
            return present in values
        case "NotIn":
            return present not in values
        case "Exists":
            return present is not None
        case "DoesNotExist":
            return present is None
        case "Gt" | "Lt" as operator:
            return _compares(present, operator, values)
    return False


def _compares(present: str | None, operator: str, values: list[Any]) -> bool:
    try:
        number, bound = int(present or ""), int(values[0])
    except (ValueError, IndexError, TypeError):
        return False
    return number > bound if operator == "Gt" else number < bound
