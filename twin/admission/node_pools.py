"""Defaults and checks of Karpenter's NodePools (kubernetes-sigs/karpenter pkg/apis/v1/nodepool.go)."""

from __future__ import annotations

import re
from typing import Any

from twin.admission.findings import Findings
from twin.records import Object

_DURATION = re.compile(r"(([0-9]+(s|m|h))+|Never)")
_NODES = re.compile(r"((100|[0-9]{1,2})%|[0-9]+)")
_POLICIES = ("WhenEmpty", "WhenEmptyOrUnderutilized")
_READY = {
    "lastTransitionTime": "2024-01-01T01:01:01Z",
    "message": "",
    "reason": "Ready",
    "status": "True",
    "type": "Ready",
}
"""The default of kwok/apis/crds/karpenter.kwok.sh_kwoknodeclasses.yaml."""
_OPERATORS = ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt")


def node_pool(obj: Object, findings: Findings) -> None:
    """Default and check a NodePool in place."""
    spec = obj.setdefault("spec", {})
    disruption = spec.setdefault("disruption", {})
    disruption.setdefault("consolidateAfter", "0s")
    disruption.setdefault("consolidationPolicy", "WhenEmptyOrUnderutilized")
    disruption.setdefault("budgets", [{"nodes": "10%"}])
    inner = (spec.get("template") or {}).get("spec")
    if not isinstance(inner, dict):
        findings.require("spec.template.spec")
        return
    inner.setdefault("expireAfter", "720h")
    if not inner.get("nodeClassRef"):
        findings.require("spec.template.spec.nodeClassRef")
    for path, value in (
        ("spec.disruption.consolidateAfter", disruption["consolidateAfter"]),
        ("spec.template.spec.expireAfter", inner["expireAfter"]),
    ):
        if not _DURATION.fullmatch(str(value)):
            findings.bad(path, value, "must be a duration such as 10m or 720h, or Never")
    if disruption["consolidationPolicy"] not in _POLICIES:
        path = "spec.disruption.consolidationPolicy"
        findings.bad(path, disruption["consolidationPolicy"], f"must be one of {_POLICIES}")
    for index, budget in enumerate(disruption["budgets"]):
        if not _NODES.fullmatch(str(budget.get("nodes", "10%"))):
            path = f"spec.disruption.budgets[{index}].nodes"
            findings.bad(path, budget["nodes"], "must be a number of nodes, or up to 100%")
    findings.quantities("spec.limits", spec.get("limits") or {})
    _requirements(inner.get("requirements") or [], findings)


def node_class(obj: Object, findings: Findings) -> None:
    """Default a KWOKNodeClass in place: it is ready unless somebody says otherwise, as its definition has it."""
    del findings
    obj.setdefault("status", {"conditions": [dict(_READY)]})


def _requirements(rows: list[Any], findings: Findings) -> None:
    for index, row in enumerate(rows):
        path = f"spec.template.spec.requirements[{index}]"
        if not row.get("key"):
            findings.require(f"{path}.key")
        if row.get("operator") not in _OPERATORS:
            findings.bad(f"{path}.operator", row.get("operator"), f"must be one of {_OPERATORS}")
        if row.get("operator") == "In" and not row.get("values"):
            findings.require(f"{path}.values")
