"""What status and scale promise: each writes its own part and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import JSON_PATCH, MERGE, Place, config_map, deployment

NODES = "/api/v1/nodes"


def test_status_writes_status_alone(place: Place) -> None:
    """A write of status leaves spec and labels; a write of the object leaves status."""
    made = place.make("poddisruptionbudgets", _budget("b"))
    body = {**made, "status": _status(7)}
    body["spec"] = {**made["spec"], "minAvailable": 9}
    body["metadata"] = {**made["metadata"], "labels": {"x": "y"}}
    body["metadata"].pop("resourceVersion")
    response = place.ask("PATCH", "poddisruptionbudgets", "b", subresource="status",
                      body={"status": _status(7), "spec": {"minAvailable": 9}},
                      content_type=MERGE)  # fmt: skip
    assert response.status == 200, response.text
    assert response.body["status"]["currentHealthy"] == 7
    assert response.body["spec"]["minAvailable"] == 1
    assert response.body["metadata"]["generation"] == made["metadata"]["generation"]
    change = {"status": {"currentHealthy": 5}, "metadata": {"labels": {"x": "y"}}}
    response = place.ask("PATCH", "poddisruptionbudgets", "b", body=change, content_type=MERGE)
    assert response.status == 200, response.text
    assert response.body["status"]["currentHealthy"] != 5
    assert response.body["metadata"]["labels"] == {"x": "y"}


def test_status_of_a_node_can_be_written(place: Place) -> None:
    """What device plug-ins and node agents do: a resource is added to a node's capacity."""
    name = f"node-{place.namespace}"
    body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}
    made = place.face.ask("POST", NODES, body=body)
    assert made.status == 201, made.text
    steps = [{"op": "add", "path": "/status/capacity", "value": {"example.com~1fpga": "4"}}]
    steps[0]["value"] = {"cpu": "4", "memory": "8Gi", "pods": "110"}
    path = f"{NODES}/{name}"
    response = place.face.ask("PATCH", f"{path}/status", body=steps, content_type=JSON_PATCH)
    assert response.status == 200, response.text
    assert response.body["status"]["capacity"]["cpu"] == "4"
    taint = {"key": "example.com/x", "value": "y", "effect": "NoSchedule"}
    change = {"spec": {"unschedulable": True, "taints": [taint]}}
    response = place.face.ask("PATCH", path, body=change, content_type=MERGE)
    assert response.body["spec"]["unschedulable"] is True
    query = {"fieldSelector": f"spec.unschedulable=true,metadata.name={name}"}
    listed = place.face.ask("GET", NODES, query=query).body["items"]
    assert [item["metadata"]["name"] for item in listed] == [name]
    assert place.face.ask("DELETE", path).status == 200


def test_scale_reads_and_writes_replicas(place: Place) -> None:
    """The scale of a Deployment is its replicas; writing it is a change of the spec alone."""
    made = place.make("deployments", deployment("web"))
    response = place.ask("GET", "deployments", "web", subresource="scale")
    assert (response.body["kind"], response.body["apiVersion"]) == ("Scale", "autoscaling/v1")
    assert response.body["spec"].get("replicas", 0) == 0
    assert response.body["status"]["selector"] == "app=web"
    assert response.body["metadata"]["uid"] == made["metadata"]["uid"]
    change: Any = {"spec": {"replicas": 2}}
    response = place.ask("PATCH", "deployments", "web", subresource="scale", body=change,
                      content_type=MERGE)  # fmt: skip
    assert (response.status, response.body["spec"]["replicas"]) == (200, 2)
    after = place.ask("GET", "deployments", "web").body
    assert (after["spec"]["replicas"], after["metadata"]["generation"]) == (2, 2)


def test_scale_is_checked(place: Place) -> None:
    """A negative number is 422, an old version 409, a dry run changes nothing."""
    made = place.make("deployments", deployment("web"))
    scale = place.ask("GET", "deployments", "web", subresource="scale").body
    bad = {**scale, "spec": {"replicas": -1}}
    response = place.ask("PUT", "deployments", "web", subresource="scale", body=bad)
    assert (response.status, response.reason) == (422, "Invalid"), response.text
    good = {**scale, "spec": {"replicas": 1}}
    unread = {**good, "metadata": {"name": "web", "namespace": place.namespace}}
    response = place.ask("PUT", "deployments", "web", subresource="scale", body=unread,
                      query={"dryRun": "All"})  # fmt: skip
    assert (response.status, response.body["spec"]["replicas"]) == (200, 1)
    assert place.ask("GET", "deployments", "web").body["spec"] == made["spec"]
    place.ask("PATCH", "deployments", "web", body={"metadata": {"labels": {"x": "y"}}},
              content_type=MERGE)  # fmt: skip
    response = place.ask("PUT", "deployments", "web", subresource="scale", body=good)
    assert (response.status, response.reason) == (409, "Conflict"), response.text


@pytest.mark.parametrize(
    ("resource", "subresource"), [("configmaps", "status"), ("configmaps", "scale")]
)
def test_subresources_that_a_kind_does_not_have(
    place: Place, resource: str, subresource: str
) -> None:
    """A subresource that is not offered is 404."""
    place.make(resource, config_map("a"))
    response = place.ask("GET", resource, "a", subresource=subresource)
    assert response.status == 404


def test_a_lease_is_taken_by_one(place: Place) -> None:
    """What leader election does: of two writers from one version, one gets a conflict."""
    body = {
        "metadata": {"name": "leader"},
        "spec": {"holderIdentity": "", "leaseDurationSeconds": 9},
    }
    made = place.make("leases", body)
    for holder, status in (("one", 200), ("two", 409)):
        taken = {**made, "spec": {**made["spec"], "holderIdentity": holder,
                                  "renewTime": "2026-01-01T00:00:00.000000Z"}}  # fmt: skip
        assert place.ask("PUT", "leases", "leader", body=taken).status == status
    found = place.ask("GET", "leases", "leader").body
    assert found["spec"]["holderIdentity"] == "one"
    assert found["spec"]["renewTime"] == "2026-01-01T00:00:00.000000Z"


def _budget(name: str) -> dict[str, Any]:
    selector = {"matchLabels": {"app": "none"}}
    return {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector}}


def _status(healthy: int) -> dict[str, int]:
    return {
        "currentHealthy": healthy,
        "desiredHealthy": 1,
        "disruptionsAllowed": 0,
        "expectedPods": 0,
    }
