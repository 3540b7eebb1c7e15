"""What programs of others rely on when they are installed: APIServices, large definitions, nodes of their own."""

from __future__ import annotations

import time
from itertools import count
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.custom import DEFINITIONS
from twin.tests.contract.faces import APPLY, Answer, Face, Place, pod

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
NODES = "/api/v1/nodes"
_numbers = count(1)


def _service(group: str, **spec: Any) -> dict[str, Any]:
    whole = {
        "group": group,
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        "insecureSkipTLSVerify": True,
        "service": {"namespace": "default", "name": "not-there"},
        **spec,
    }
    kept = {key: value for key, value in whole.items() if value is not None}
    return {"metadata": {"name": f"v1.{group}"}, "spec": kept}


@pytest.mark.parametrize(
    ("changes", "field", "sentence"),
    [
        ({"version": "v2"}, "metadata.name", 'must be `spec.version+"."+spec.group`'),
        ({"groupPriorityMinimum": 0}, "spec.groupPriorityMinimum", "must be positive and less than 20000"),
        ({"versionPriority": 2_000}, "spec.versionPriority", "must be positive and less than 1000"),
        ({"service": {"name": "a"}}, "spec.service.namespace", "Required value"),
        ({"service": {"namespace": "a", "name": "a", "port": 70_000}}, "spec.service.port", "between 1 and 65535"),
        ({"caBundle": "YQ=="}, "spec.insecureSkipTLSVerify", "may not be true if caBundle is present"),
        ({"service": None}, "spec.insecureSkipTLSVerify", "local APIServices may not have"),
    ],
)  # fmt: skip
def test_what_an_api_service_may_not_say(
    face: Face, changes: dict[str, Any], field: str, sentence: str
) -> None:
    """It is refused by field, in the API server's words."""
    answer = face.ask("POST", SERVICES, body=_service("bad.example.com", **changes))
    assert answer.status == 422, answer.text
    (cause,) = (one for one in answer.body["details"]["causes"] if one["field"] == field)
    assert sentence in cause["message"]


def test_a_service_that_is_not_there_makes_it_unavailable(face: Face) -> None:
    """The condition says so, and requests for its group get 503."""
    group = f"gone-{next(_numbers)}.example.com"
    assert face.ask("POST", SERVICES, body=_service(group)).status == 201
    path = f"{SERVICES}/v1.{group}"

    def available() -> dict[str, str]:
        (condition,) = face.ask("GET", path).body["status"].get("conditions") or [{}]
        return {key: condition.get(key, "") for key in ("type", "status", "reason", "message")}

    wanted = {
        "type": "Available",
        "status": "False",
        "reason": "ServiceNotFound",
        "message": 'service/not-there in "default" is not present',
    }
    end = time.monotonic() + HANGS_SECONDS
    while available() != wanted and time.monotonic() < end:
        time.sleep(0.1)
    assert available() == wanted
    if face.has_headers:
        assert face.ask("GET", f"/apis/{group}/v1/things").status == 503
    assert face.ask("DELETE", path).status == 200


def test_discovery_names_the_groups_of_api_services(face: Face) -> None:
    """Lists of groups have each, by priority; aggregated discovery calls a version stale whose server says nothing."""
    group, local = f"listed-{next(_numbers)}.example.com", f"local-{next(_numbers)}.example.com"
    older = {**_service(group, version="v1beta1", versionPriority=5)}
    older["metadata"] = {"name": f"v1beta1.{group}"}
    own = {"service": None, "insecureSkipTLSVerify": None, "groupPriorityMinimum": 17_000}
    for body in (_service(group), older, _service(local, **own)):
        assert face.ask("POST", SERVICES, body=body).status == 201
    end = time.monotonic() + HANGS_SECONDS
    while group not in _names(_groups(face)) and time.monotonic() < end:
        time.sleep(0.1)
    names = _names(_groups(face))
    assert names.index(local) < names.index("storage.k8s.io") < names.index(group)
    answer = face.ask("GET", f"/apis/{group}").body
    assert [each["version"] for each in answer["versions"]] == ["v1", "v1beta1"]
    assert answer["preferredVersion"] == {"groupVersion": f"{group}/v1", "version": "v1"}
    assert f"/apis/{group}/v1beta1" in face.ask("GET", "/").body["paths"]
    while _aggregated(face, group) is None and time.monotonic() < end:
        time.sleep(0.1)
    stale = [{"version": version, "freshness": "Stale"} for version in ("v1", "v1beta1")]
    assert _aggregated(face, group) == stale
    assert _aggregated(face, local) is None
    for name in (f"v1.{group}", f"v1beta1.{group}", f"v1.{local}"):
        assert face.ask("DELETE", f"{SERVICES}/{name}").status == 200


def _groups(face: Face) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = face.ask("GET", "/apis").body["groups"]
    return found


def _names(groups: list[dict[str, Any]]) -> list[str]:
    return [group["name"] for group in groups]


def _aggregated(face: Face, group: str) -> Any:
    """Return the versions of a group in aggregated discovery; None where it is not in it."""
    accept = "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io"
    items = face.ask("GET", "/apis", accept=accept).body["items"]
    by_name = {item["metadata"]["name"]: item["versions"] for item in items}
    return by_name.get(group)


def test_a_large_definition_can_be_applied(face: Face) -> None:
    """Kueue's Workload has a schema of more than ten thousand values, and is applied on the server's side."""
    plural, group = "larges", f"large-{next(_numbers)}.example.com"
    fields = {f"field{n}": {"type": "string", "maxLength": 9, "minLength": 1} for n in range(2_500)}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    body = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": "Large", "singular": "large", "listKind": "LargeList"},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}],
        },
    }  # fmt: skip
    path = f"{DEFINITIONS}/{plural}.{group}"
    query = {"fieldManager": "installer", "force": "true"}
    answer = face.ask("PATCH", path, query=query, body=body, content_type=APPLY)
    assert answer.status == 201, answer.text[:300]
    assert face.ask("DELETE", path).status == 200


def test_what_a_node_says_of_itself_is_kept(place: Place) -> None:
    """Providers of fake nodes find theirs by providerID, and what may be asked of one differs from what it has."""
    name = f"own-{place.namespace}"
    status = {
        "capacity": {"cpu": "4000m", "memory": "8Gi", "pods": "1"},
        "allocatable": {"cpu": "3900m", "memory": "7Gi", "pods": "110"},
    }
    body = {"metadata": {"name": name}, "spec": {"providerID": f"kwok://{name}"}, "status": status}
    made = place.face.ask("POST", NODES, body=body)
    assert made.status == 201, made.text
    _check_node(made, name)
    _check_node(place.face.ask("GET", f"{NODES}/{name}"), name)
    assert place.face.ask("DELETE", f"{NODES}/{name}").status == 200


def _check_node(answer: Answer, name: str) -> None:
    assert answer.body["spec"]["providerID"] == f"kwok://{name}"
    status = answer.body["status"]
    assert status["capacity"] == {"cpu": "4", "memory": "8Gi", "pods": "1"}
    assert status["allocatable"] == {"cpu": "3900m", "memory": "7Gi", "pods": "110"}


def _field(number: int, content: bytes) -> bytes:
    """Return a field of protobuf that holds less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


@pytest.mark.parametrize("version", ["policy/v1", "policy/v1beta1"])
def test_an_eviction_in_protobuf(place: Place, version: str) -> None:
    """Cluster Autoscaler evicts by the older version, which is read for this alone."""
    place.make("pods", pod("leaving"))
    head = _field(1, b"leaving") + _field(3, place.namespace.encode())
    kind = _field(1, version.encode()) + _field(2, b"Eviction")
    body = b"k8s\0" + _field(1, kind) + _field(2, _field(1, head))
    answer = place.ask(
        "POST",
        "pods",
        "leaving",
        subresource="eviction",
        body=body,
        query={"dryRun": "All"},
        content_type="application/vnd.kubernetes.protobuf",
    )
    assert answer.status == 201, answer.text


def _put_status(place: Place) -> Answer:
    """Read a budget and write its status in protobuf."""
    current = place.ask("GET", "poddisruptionbudgets", "b")
    head = (
        _field(1, b"b") + _field(3, place.namespace.encode()) + _field(6, current.version.encode())
    )
    numbers = b"".join(
        bytes([number << 3, value]) for number, value in ((3, 0), (4, 1), (5, 1), (6, 1))
    )
    kind = _field(1, b"policy/v1") + _field(2, b"PodDisruptionBudget")
    whole = _field(1, head) + _field(3, numbers)
    return place.ask(
        "PUT",
        "poddisruptionbudgets",
        "b",
        subresource="status",
        body=b"k8s\0" + _field(1, kind) + _field(2, whole),
        content_type="application/vnd.kubernetes.protobuf",
    )


def test_a_status_in_protobuf_keeps_its_zeros(place: Place) -> None:
    """kube-controller-manager writes budgets that allow nothing: 0 is a number there, not an absent field."""
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}}
    place.make("poddisruptionbudgets", {"metadata": {"name": "b"}, "spec": spec})
    answer = _put_status(place)
    while answer.status == 409:  # the budget's controller has written in between
        answer = _put_status(place)
    assert answer.status == 200, answer.text
    status = answer.body["status"]
    assert (status["disruptionsAllowed"], status["currentHealthy"]) == (0, 1)
