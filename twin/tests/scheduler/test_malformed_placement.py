"""What a pod says about its place is checked before it is stored: a 422 that names the field."""

from __future__ import annotations

from typing import Any

import pytest

from twin.errors import ApiError
from twin.tests.scheduler.cluster import Cluster

Object = dict[str, Any]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
SPREAD: Object = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}


@pytest.mark.parametrize(
    ("spec", "field", "why"),
    [
        ({"topologySpreadConstraints": [{}]}, "spec.topologySpreadConstraints[0].maxSkew",
         "must be greater than zero"),
        ({"topologySpreadConstraints": [{**SPREAD, "maxSkew": 0}]},
         "spec.topologySpreadConstraints[0].maxSkew", "must be greater than zero"),
        ({"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "Never"}]},
         "spec.topologySpreadConstraints[0].whenUnsatisfiable", "Unsupported value"),
        ({"topologySpreadConstraints": [{**SPREAD, "whenUnsatisfiable": "ScheduleAnyway",
                                         "minDomains": 2}]},
         "spec.topologySpreadConstraints[0].minDomains", "can only use minDomains"),
        ({"affinity": {"podAffinity": {REQUIRED: [{}]}}},
         f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey", "can not be empty"),
        ({"affinity": {"podAntiAffinity": {PREFERRED: [{"podAffinityTerm": {"topologyKey": "z"}}]}}},
         f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight", "must be in the range 1-100"),
        ({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}},
         f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms", "at least one"),
        ({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "k", "operator": "Near"}]}]}}}},
         f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0].operator",
         "not a valid selector operator"),
        ({"tolerations": [{"value": "x"}]}, "spec.tolerations[0].operator", "must be Exists"),
        ({"tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule",
                           "tolerationSeconds": 3}]},
         "spec.tolerations[0].effect", "must be 'NoExecute'"),
        ({"schedulingGates": [{}]}, "spec.schedulingGates[0]", "name part must be non-empty"),
        ({"ports": [{"containerPort": 80, "hostPort": 70_000}]},
         "spec.containers[0].ports[0].hostPort", "must be between 1 and 65535"),
    ],
)  # fmt: skip
def test_each_bad_field_is_named(spec: Object, field: str, why: str) -> None:
    """Nothing malformed reaches the scheduler."""
    with pytest.raises(ApiError) as refused:
        Cluster().pod("p", **spec)

    assert refused.value.status == 422
    causes = {cause["field"]: cause["message"] for cause in refused.value.details["causes"]}
    assert why in causes[field]
