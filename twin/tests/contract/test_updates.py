"""Updates of objects that are there: what may change, what may not, and what goes with a changed type."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import MERGE, Place
from twin.tests.contract.field_rows import words_of

_POD: dict[str, Any] = {"schedulerName": "nobody", "containers": [{"name": "c", "image": "i"}]}
_TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
_TASK = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}]}}
_SELECTOR = {"matchLabels": {"a": "b"}}
_CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
_BUSY = "422 Invalid spec FieldValueForbidden"
CASES: tuple[tuple[str, Any, Any, str], ...] = (
    ("api/v1/pods", {"spec": _POD}, {"spec": {"containers": [{"name": "c", "image": "j"}]}}, "200"),
    ("api/v1/pods", {"spec": _POD}, {"spec": {"activeDeadlineSeconds": 10}}, "200"),
    ("api/v1/pods", {"spec": _POD}, {"spec": {"tolerations": [{"key": "z", "operator": "Exists"}]}}, "200"),
    ("api/v1/pods", {"spec": _POD}, {"spec": {"nodeName": "n"}}, _BUSY),
    ("api/v1/pods", {"spec": _POD}, {"spec": {"schedulingGates": [{"name": "g"}]}},
     "422 Invalid spec.schedulingGates[0].name FieldValueForbidden"),
    ("api/v1/pods", {"spec": _POD}, {"spec": {"containers": [*_POD["containers"], {"name": "d", "image": "i"}]}},
     "422 Invalid spec.containers FieldValueForbidden"),
    ("api/v1/secrets", {}, {"type": "Other"}, "422 Invalid type FieldValueInvalid"),
    ("api/v1/resourcequotas", {"spec": {"hard": {"pods": "5"}}}, {"spec": {"scopes": ["BestEffort"]}},
     "422 Invalid spec.scopes FieldValueInvalid"),
    ("api/v1/persistentvolumeclaims", {"spec": _CLAIM}, {"spec": {"accessModes": ["ReadOnlyMany"]}}, _BUSY),
    ("api/v1/persistentvolumeclaims", {"spec": _CLAIM},
     {"spec": {"resources": {"requests": {"storage": "2Gi"}}}}, _BUSY),
    ("api/v1/persistentvolumeclaims", {"spec": _CLAIM}, {"metadata": {"labels": {"a": "b"}}}, "200"),
    ("apis/batch/v1/jobs", {"spec": {"suspend": True, "template": _TASK}}, {"spec": {"managedBy": "a.b/c"}},
     "422 Invalid spec.managedBy FieldValueInvalid"),
    ("apis/batch/v1/jobs", {"spec": {"suspend": True, "template": _TASK}},
     {"spec": {"template": {"spec": {"containers": [{"name": "c", "image": "j"}]}}}},
     "422 Invalid spec.template.spec FieldValueInvalid"),
    ("apis/batch/v1/jobs", {"spec": {"suspend": True, "template": _TASK}},
     {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}, "200"),
    ("apis/batch/v1/jobs", {"spec": {"suspend": True, "template": _TASK}}, {"spec": {"parallelism": 5}}, "200"),
    ("apis/apps/v1/statefulsets",
     {"spec": {"replicas": 0, "serviceName": "s", "selector": _SELECTOR, "template": _TEMPLATE}},
     {"spec": {"podManagementPolicy": "Parallel"}}, _BUSY),
    ("apis/apps/v1/deployments", {"spec": {"replicas": 0, "selector": _SELECTOR, "template": _TEMPLATE}},
     {"spec": {"template": {"metadata": {"labels": {"a": "c"}}}}},
     "422 Invalid spec.template.metadata.labels FieldValueInvalid"),
    ("apis/discovery.k8s.io/v1/endpointslices", {"addressType": "FQDN", "endpoints": [], "ports": []},
     {"addressType": "IPv4"}, "422 Invalid addressType FieldValueInvalid"),
)  # fmt: skip
"""Group, version and resource; the object; a merge patch; the answer."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0].rpartition('/')[2]} {case[3]}")
def test_updates_are_checked_against_what_is_there(
    place: Place, case: tuple[str, Any, Any, str]
) -> None:
    """An update changes what may change; the rest is refused with its field."""
    where, body, patch, wanted = case
    group, _, resource = where.rpartition("/")
    path = f"/{group}/namespaces/{place.namespace}/{resource}"
    made = place.face.ask("POST", path, body={"metadata": {"name": "x"}, **body})
    assert made.status == 201, made.text
    found = place.face.ask(
        "PATCH", f"{path}/x", body=patch, content_type=MERGE, query={"dryRun": "All"}
    )
    assert words_of(found) == wanted, found.text


def test_a_service_changes_its_type(place: Place) -> None:
    """What belongs to one type of Service comes and goes with it, without the client's saying so."""
    place.make("services", {"metadata": {"name": "s"}, "spec": {
        "type": "ExternalName", "externalName": "example.com"}})  # fmt: skip

    def become(**spec: Any) -> dict[str, Any]:
        found = place.ask("PATCH", "services", "s", body={"spec": spec}, content_type=MERGE)
        assert found.status == 200, found.text
        shown: dict[str, Any] = found.body["spec"]
        return shown

    made = become(type="ClusterIP", externalName=None, ports=[{"port": 80}])
    address = made["clusterIP"]
    assert address
    assert "nodePort" not in made["ports"][0]
    made = become(type="NodePort")
    assert (made["clusterIP"], made["externalTrafficPolicy"]) == (address, "Cluster")
    assert made["ports"][0]["nodePort"]
    made = become(type="LoadBalancer")
    assert made["allocateLoadBalancerNodePorts"] is True
    made = become(type="ClusterIP")
    assert {"nodePort", "externalTrafficPolicy"}.isdisjoint({**made, **made["ports"][0]})
    assert "allocateLoadBalancerNodePorts" not in made
    made = become(clusterIP="")
    assert made["clusterIPs"] == [address]
    made = become(type="ExternalName", externalName="example.com")
    assert {"clusterIP", "clusterIPs", "ipFamilies", "internalTrafficPolicy"}.isdisjoint(made)
