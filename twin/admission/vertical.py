"""Defaults and checks of VerticalPodAutoscalers.

Source: vertical-pod-autoscaler/pkg/admission-controller/resource/vpa of kubernetes/autoscaler, and its CRD.
"""

from __future__ import annotations

from twin.admission.findings import Findings
from twin.records import Object

_MODES = ("Off", "Initial", "Recreate", "InPlaceOrRecreate", "Auto")
_FIELDS: dict[str, tuple[str, ...]] = {
    "mode": ("Auto", "Off"),
    "controlledValues": ("RequestsAndLimits", "RequestsOnly"),
}


def check(obj: Object, findings: Findings) -> None:
    """Default and check an object in place."""
    spec = obj.setdefault("spec", {})
    ref = spec.get("targetRef")
    if not isinstance(ref, dict):
        findings.require("spec.targetRef")
    else:
        for field in ("kind", "name"):
            if not ref.get(field):
                findings.require(f"spec.targetRef.{field}")
    policy = spec.setdefault("updatePolicy", {})
    _choose(findings, "spec.updatePolicy.updateMode", policy.setdefault("updateMode", "Recreate"),
            _MODES)  # fmt: skip
    if "minReplicas" in policy:
        least = policy["minReplicas"]
        if not isinstance(least, int) or isinstance(least, bool) or least <= 0:
            findings.bad("spec.updatePolicy.minReplicas", least, "must be larger than 0")
    rows = (spec.get("resourcePolicy") or {}).get("containerPolicies") or ()
    for index, row in enumerate(rows):
        _check_container(row, findings, f"spec.resourcePolicy.containerPolicies[{index}]")


def _check_container(row: Object, findings: Findings, path: str) -> None:
    if not row.get("containerName"):
        findings.require(f"{path}.containerName")
    for field, choices in _FIELDS.items():
        if row.get(field) is not None:
            _choose(findings, f"{path}.{field}", row[field], choices)
    if row.get("mode") == "Off" and row.get("controlledValues") is not None:
        findings.bad(f"{path}.controlledValues", row["controlledValues"], "must not be set when "
                     "mode is Off")  # fmt: skip
    for field in ("minAllowed", "maxAllowed"):
        findings.quantities(f"{path}.{field}", row.get(field) or {})
    for name in row.get("controlledResources") or ():
        _choose(findings, f"{path}.controlledResources", name, ("cpu", "memory"))


def _choose(findings: Findings, path: str, value: object, choices: tuple[str, ...]) -> None:
    if value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        findings.add(path, f'Unsupported value: "{value}": supported values: {listed}')
