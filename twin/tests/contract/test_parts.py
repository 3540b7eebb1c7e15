"""Parts of objects that are written by themselves: status, scale, approval, ephemeral containers, bindings."""

from __future__ import annotations

from typing import Any

import pytest

from twin.tests.contract.faces import JSON_PATCH, MERGE, STRATEGIC, Place, deployment, pod
from twin.tests.contract.field_rows import words_of

_TEMPLATE = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {"containers": [{"name": "c", "image": "i"}], "nodeSelector": {"no": "where"}},
}
_TASK = {**_TEMPLATE, "spec": {**_TEMPLATE["spec"], "restartPolicy": "Never"}}
_SELECTOR = {"matchLabels": {"a": "b"}}
_SET = {"selector": _SELECTOR, "template": _TEMPLATE}
_CORE, _APPS = "/api/v1/namespaces/{}", "/apis/apps/v1/namespaces/{}"
HELD: dict[str, dict[str, Any]] = {
    f"{_APPS}/deployments": {**_SET, "replicas": 0},
    f"{_APPS}/replicasets": {**_SET, "replicas": 0},
    f"{_APPS}/statefulsets": {**_SET, "replicas": 0, "serviceName": "s"},
    f"{_APPS}/daemonsets": _SET,
    f"{_CORE}/replicationcontrollers": {"replicas": 0, "template": _TEMPLATE},
    "/apis/batch/v1/namespaces/{}/jobs": {"suspend": True, "template": _TASK},
    f"{_CORE}/services": {"ports": [{"port": 80}]},
    f"{_CORE}/resourcequotas": {"hard": {"pods": "5"}},
    f"{_CORE}/pods": {**_TEMPLATE["spec"], "schedulerName": "nobody"},
    "/apis/policy/v1/namespaces/{}/poddisruptionbudgets": {
        "minAvailable": 1,
        "selector": _SELECTOR,
    },
    "/apis/networking.k8s.io/v1/namespaces/{}/ingresses": {
        "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}}
    },
    "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims": {
        "devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "x"}}]}
    },
}
"""Kinds with a status, each with the spec of one."""
NO_LABELS = f"{_APPS}/deployments"
NOTHING = "/apis/resource.k8s.io/v1/namespaces/{}/resourceclaims"


@pytest.mark.parametrize("path", HELD, ids=lambda path: path.rpartition("/")[2])
def test_a_status_is_written_with_the_metadata(place: Place, path: str) -> None:
    """A patch of `status` keeps the annotations and labels in it, but for kinds that leave them alone."""
    place_of = path.replace("{}", place.namespace)
    body = {"metadata": {"name": "x", "labels": {"own": "1"}}, "spec": HELD[path]}
    assert place.face.ask("POST", place_of, body=body).status == 201
    change = {"metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}}}
    found = place.face.ask("PATCH", f"{place_of}/x/status", body=change, content_type=MERGE)
    assert found.status == 200, found.text
    metadata = found.body["metadata"]
    assert ("l" in metadata["labels"]) is (path not in (NO_LABELS, NOTHING))
    assert ("a" in metadata.get("annotations", {})) is (path != NOTHING)
    bad = {"metadata": {"annotations": {"a b": "1"}}}
    refused = place.face.ask("PATCH", f"{place_of}/x/status", body=bad, content_type=MERGE)
    assert refused.status == (200 if path == NOTHING else 422)


def _scale(replicas: Any, **metadata: Any) -> dict[str, Any]:
    named = {"name": "web", **metadata}
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": named,
        "spec": {"replicas": replicas},
    }


@pytest.mark.parametrize(
    ("method", "body", "content_type", "wanted"),
    [
        ("PUT", _scale(3), "application/json", "200"),
        ("PUT", _scale(-1), "application/json", "422 Invalid spec.replicas FieldValueInvalid"),
        ("PUT", _scale("x"), "application/json", "400 BadRequest"),
        ("PUT", _scale(2, name="other"), "application/json", "400 BadRequest"),
        ("PUT", _scale(2, uid="other"), "application/json", "409 Conflict"),
        ("PUT", _scale(2, resourceVersion="1"), "application/json", "409 Conflict"),
        ("PUT", {**_scale(2), "kind": "Odd"}, "application/json", "400 BadRequest"),
        ("PUT", {"spec": {"replicas": 2}}, "application/json", "400 BadRequest"),
        ("PATCH", {"spec": {"replicas": "x"}}, MERGE, "422 Invalid patch FieldValueInvalid"),
        ("PATCH", {"spec": {"replicas": -1}}, MERGE, "422 Invalid spec.replicas FieldValueInvalid"),
        ("PATCH", [{"op": "replace", "path": "/spec/replicas", "value": 2}], JSON_PATCH, "200"),
        ("DELETE", None, "application/json", "405 MethodNotAllowed"),
    ],
    ids=str,
)  # fmt: skip
def test_a_scale_is_checked(
    place: Place, method: str, body: Any, content_type: str, wanted: str
) -> None:
    """A Scale is an object like others: its kind, name, version and number are looked at."""
    place.make("deployments", deployment("web"))
    found = place.ask(
        method, "deployments", "web", subresource="scale", body=body, content_type=content_type
    )
    assert words_of(found) == wanted, found.text


def test_ephemeral_containers(place: Place) -> None:
    """Containers are added to a pod by their subresource alone, and stay as they are."""
    place.make("pods", pod("p", schedulerName="nobody"))

    def add(content_type: str = STRATEGIC, **container: Any) -> Any:
        body = {"spec": {"ephemeralContainers": [{"image": "i", **container}]}}
        return place.ask(
            "PATCH", "pods", "p", subresource="ephemeralcontainers", body=body, content_type=content_type
        )  # fmt: skip

    made = add(name="e", targetContainerName="c")
    assert made.status == 200, made.text
    (shown,) = made.body["spec"]["ephemeralContainers"]
    assert (shown["name"], shown["terminationMessagePolicy"]) == ("e", "File")
    field = "spec.ephemeralContainers"
    assert words_of(add(name="e", image="other")) == f"422 Invalid {field} FieldValueForbidden"
    assert words_of(add(MERGE, name="f")) == f"422 Invalid {field} FieldValueForbidden"
    assert words_of(add(name="c")) == f"422 Invalid {field}[0].name FieldValueDuplicate"
    refused = add(name="f", targetContainerName="nobody")
    assert words_of(refused) == f"422 Invalid {field}[0].targetContainerName FieldValueNotFound"
    refused = add(name="f", livenessProbe={"tcpSocket": {"port": 1}})
    assert words_of(refused) == f"422 Invalid {field}[0].livenessProbe FieldValueForbidden"
    labels = {"metadata": {"labels": {"x": "y"}}}
    assert place.ask("PATCH", "pods", "p", body=labels, content_type=MERGE).status == 200
    kept = place.ask("GET", "pods", "p", subresource="ephemeralcontainers").body["spec"]
    assert [one["name"] for one in kept["ephemeralContainers"]] == ["e"]


def test_evictions_name_their_pod(place: Place) -> None:
    """An eviction of another pod than its path's, or what is no eviction, is 400."""
    place.make("pods", pod("p", schedulerName="nobody"))
    for body in (
        {"kind": "Eviction", "apiVersion": "policy/v1", "metadata": {"name": "other"}},
        {"kind": "Odd", "apiVersion": "policy/v1", "metadata": {"name": "p"}},
    ):
        refused = place.ask("POST", "pods", "p", subresource="eviction", body=body)
        assert words_of(refused) == "400 BadRequest"
    assert place.ask("GET", "pods", "p").status == 200


def test_bindings_are_checked(place: Place) -> None:
    """A binding names its own pod and a node; the older path beside pods takes it, too."""
    place.make("pods", pod("p", schedulerName="nobody"))
    for target in ({"kind": "Odd", "name": "x"}, {"kind": "Node", "name": ""}):
        body = {"metadata": {"name": "p"}, "target": target}
        assert place.ask("POST", "pods", "p", subresource="binding", body=body).status == 500
    body = {"metadata": {"name": "other"}, "target": {"kind": "Node", "name": "x"}}
    assert place.ask("POST", "pods", "p", subresource="binding", body=body).status == 400
    body = {"metadata": {"name": "nobody"}, "target": {"kind": "Node", "name": "x"}}
    assert place.ask("POST", "bindings", body=body).status == 404
    assert place.ask("GET", "bindings").status == 405


def test_runtime_classes(place: Place) -> None:
    """A pod gets what its RuntimeClass adds; an unknown class, or another overhead, is 403."""
    path, name = "/apis/node.k8s.io/v1/runtimeclasses", f"rc-{place.namespace}"
    adds = {"nodeSelector": {"x": "y"}}
    body = {"metadata": {"name": name}, "handler": "h", "overhead": {"podFixed": {"cpu": "100m"}},
            "scheduling": adds}  # fmt: skip
    assert place.face.ask("POST", path, body=body).status == 201
    spec = {"schedulerName": "nobody", "runtimeClassName": name}
    made = place.make("pods", pod("p", **spec))["spec"]
    assert (made["overhead"], made["nodeSelector"]) == ({"cpu": "100m"}, {"x": "y"})
    for other in (
        {**spec, "runtimeClassName": "no-such-class"},
        {**spec, "overhead": {"cpu": "1"}},
        {**spec, "nodeSelector": {"x": "z"}},
        {"overhead": {"cpu": "1"}},
    ):
        refused = place.ask("POST", "pods", body=pod("q", **other))
        assert words_of(refused) == "403 Forbidden"
    assert place.face.ask("DELETE", f"{path}/{name}").status == 200
