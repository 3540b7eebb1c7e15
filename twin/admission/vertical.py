"""Defaults and checks of VerticalPodAutoscalers.

Source: vertical-pod-autoscaler/pkg/admission-controller/resource/vpa of kubernetes/autoscaler, and its CRD.
"""

from __future__ import annotations

from twin.admission import structural
from twin.admission.findings import Findings
from twin.admission.structural import AMOUNT, AMOUNTS, INTEGER, STRING, Schema, choice, record, rows
from twin.records import Object

_BOOST = record(
    cpu=record(
        ("type",),
        type=choice("Factor", "Quantity"),
        factor=INTEGER,
        quantity=AMOUNT,
        durationSeconds=INTEGER,
    )
)
_AT_LEAST_ONE = Schema("integer", minimum=1)
SPEC = record(
    ("targetRef",),
    targetRef=record(("kind", "name"), apiVersion=STRING, kind=STRING, name=STRING),
    updatePolicy=record(
        updateMode=choice("Off", "Initial", "Recreate", "InPlaceOrRecreate", "InPlace", "Auto"),
        minReplicas=INTEGER,
        evictAfterOOMSeconds=_AT_LEAST_ONE,
        evictionRequirements=rows(
            record(
                ("changeRequirement", "resources"),
                changeRequirement=choice("TargetHigherThanRequests", "TargetLowerThanRequests"),
                resources=rows(STRING),
            )
        ),
    ),
    resourcePolicy=record(
        containerPolicies=rows(
            record(
                containerName=STRING,
                mode=choice("Auto", "Off"),
                minAllowed=AMOUNTS,
                maxAllowed=AMOUNTS,
                controlledResources=rows(STRING),
                controlledValues=choice("RequestsAndLimits", "RequestsOnly"),
                oomBumpUpRatio=AMOUNT,
                oomMinBumpUp=AMOUNT,
                memoryAggregationIntervalSeconds=_AT_LEAST_ONE,
                memoryAggregationIntervalCount=_AT_LEAST_ONE,
                targetCPUPercentile=AMOUNT,
                targetMemoryPercentile=AMOUNT,
                startupBoost=_BOOST,
            )
        )
    ),
    recommenders=rows(record(("name",), name=STRING)),
    startupBoost=_BOOST,
)
"""The `spec` of v1 in vertical-pod-autoscaler/deploy/vpa-v1-crd-gen.yaml (VPA 1.7)."""


def check(obj: Object, findings: Findings) -> None:
    """Default and check an object in place: by its schema, then as VPA's own admission controller."""
    if "spec" not in obj:
        findings.require("spec")
        return
    spec = obj["spec"]
    structural.check(spec, SPEC, findings, "spec")
    if findings.causes:
        return
    policy = spec.setdefault("updatePolicy", {})
    if policy.setdefault("updateMode", "Recreate") == "InPlace":
        why = "the feature gate InPlace is off in this cluster"
        findings.bad("spec.updatePolicy.updateMode", "InPlace", why)
    if policy.get("minReplicas", 1) <= 0:
        findings.bad(
            "spec.updatePolicy.minReplicas", policy["minReplicas"], "must be larger than 0"
        )
    for index, row in enumerate(spec.get("resourcePolicy", {}).get("containerPolicies", ())):
        _check_container(row, findings, f"spec.resourcePolicy.containerPolicies[{index}]")


def _check_container(row: Object, findings: Findings, path: str) -> None:
    if not row.get("containerName"):
        findings.require(f"{path}.containerName")
    if row.get("mode") == "Off" and row.get("controlledValues") is not None:
        findings.bad(f"{path}.controlledValues", row["controlledValues"], "must not be set when "
                     "mode is Off")  # fmt: skip
    for field in ("minAllowed", "maxAllowed"):
        findings.quantities(f"{path}.{field}", row.get(field) or {})
    for name in row.get("controlledResources") or ():
        if name not in ("cpu", "memory"):
            text = f'Unsupported value: "{name}": supported values: "cpu", "memory"'
            findings.add(f"{path}.controlledResources", text)
