"""Defaults and checks of FlowSchemas and their priority levels.

Nothing in the twin acts on them: requests are answered in the order in which they come. Source: kubernetes/kubernetes
pkg/apis/flowcontrol (defaults and validation at 1.36).
"""

from __future__ import annotations

import json

from twin.admission.findings import Findings
from twin.records import Object

_PRECEDENCE, _MOST_PRECEDENCE = 1_000, 10_000
_SHARES = 30
_QUEUING = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}


def schema(obj: Object, findings: Findings) -> None:
    """Default and check a FlowSchema in place."""
    spec = obj.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = _PRECEDENCE
    precedence = spec["matchingPrecedence"]
    if not 1 <= precedence <= _MOST_PRECEDENCE:
        why = f"must be a value between 1 and {_MOST_PRECEDENCE}"
        findings.bad("spec.matchingPrecedence", precedence, why)
    if not (spec.get("priorityLevelConfiguration") or {}).get("name"):
        why = "Required value: must reference a priority level"
        findings.add("spec.priorityLevelConfiguration.name", why)
    obj.setdefault("status", {})


def level(obj: Object, findings: Findings) -> None:
    """Default and check a PriorityLevelConfiguration in place."""
    spec = obj.setdefault("spec", {})
    kind, limited, exempt = spec.get("type"), spec.get("limited"), spec.get("exempt")
    if kind not in ("Exempt", "Limited"):
        found = json.dumps(kind or "")
        why = f'Unsupported value: {found}: supported values: "Exempt", "Limited"'
        findings.add("spec.type", why)
    if kind == "Limited" and limited is None:
        why = "Required value: must not be empty when type is Limited"
        findings.add("spec.limited", why)
    if kind == "Exempt" and limited is not None:
        why = "Forbidden: must be nil if the type is not Limited"
        findings.add("spec.limited", why)
    if limited is not None:
        limited.setdefault("nominalConcurrencyShares", _SHARES)
        limited.setdefault("lendablePercent", 0)
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        for name, number in _QUEUING.items():
            if queuing is not None and not queuing.get(name):
                queuing[name] = number
    if exempt is not None:
        exempt.setdefault("nominalConcurrencyShares", 0)
        exempt.setdefault("lendablePercent", 0)
    obj.setdefault("status", {})
