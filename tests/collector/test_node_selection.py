"""Which nodes a pod may run on: the documentation's rules, one by one."""

from __future__ import annotations

from typing import Any

import pytest

from services.kube_objects import Meta, Node, PodSpec
from services.node_selection import REQUIRED, asks_for_nodes, has_other_rules, may_run_on

NODE = Node(metadata=Meta(name="n1", labels={"disk": "ssd", "cores": "8"}))


def required(*terms: Any) -> dict[str, Any]:
    """Return an affinity with required terms."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def rule(key: str, operator: str, *values: str) -> dict[str, Any]:
    """Return a term of one expression."""
    return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}


@pytest.mark.parametrize(
    ("term", "holds"),
    [
        (rule("disk", "In", "hdd", "ssd"), True),
        (rule("disk", "In", "hdd"), False),
        (rule("zone", "In", "a"), False),
        (rule("disk", "NotIn", "ssd"), False),
        (rule("zone", "NotIn", "a"), True),
        (rule("disk", "Exists"), True),
        (rule("zone", "Exists"), False),
        (rule("zone", "DoesNotExist"), True),
        (rule("disk", "DoesNotExist"), False),
        (rule("cores", "Gt", "7"), True),
        (rule("cores", "Gt", "8"), False),
        (rule("cores", "Lt", "9"), True),
        (rule("disk", "Gt", "7"), False),
        (rule("zone", "Lt", "7"), False),
        (rule("disk", "Resembles", "ssd"), False),
        ({}, False),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}, True),
        ({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]}, False),
    ],
)
def test_operators(term: dict[str, Any], holds: bool) -> None:
    """What a node lacks is in no set and in every complement; what is not understood holds nowhere."""
    assert may_run_on(PodSpec(affinity=required(term)), NODE) is holds


def test_terms_are_alternatives_and_expressions_are_not() -> None:
    """One term of several is enough; of its expressions all must hold, beside the selector."""
    yes, no = rule("disk", "Exists"), rule("zone", "Exists")
    both = {"matchExpressions": [*yes["matchExpressions"], *no["matchExpressions"]]}
    assert may_run_on(PodSpec(affinity=required(no, yes)), NODE)
    assert not may_run_on(PodSpec(affinity=required(both)), NODE)
    assert not may_run_on(PodSpec(affinity=required(yes), node_selector={"zone": "a"}), NODE)
    assert not may_run_on(PodSpec(affinity=required()), NODE)
    assert may_run_on(PodSpec(), NODE)


def test_only_what_is_required_counts() -> None:
    """Preferences forbid nothing; spread counts unless it is scheduled anyway."""
    wish = {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}
    soft = PodSpec(affinity={"nodeAffinity": wish, "podAntiAffinity": wish})
    assert not asks_for_nodes(soft)
    assert not has_other_rules(soft)
    assert has_other_rules(PodSpec(affinity={"podAntiAffinity": {REQUIRED: [{}]}}))
    assert has_other_rules(PodSpec(topology_spread_constraints=({"maxSkew": 1},)))
    anyway = ({"whenUnsatisfiable": "ScheduleAnyway"},)
    assert not has_other_rules(PodSpec(topology_spread_constraints=anyway))
    assert asks_for_nodes(PodSpec(node_selector={"disk": "ssd"}))
