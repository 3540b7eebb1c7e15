"""What programs of others rely on when they are installed: large definitions, nodes of their own, protobuf."""

from __future__ import annotations

from itertools import count

import pytest

from twin.tests.contract.custom import DEFINITIONS
from twin.tests.contract.faces import APPLY, Answer, Face, Place, pod

NODES = "/api/v1/nodes"
_numbers = count(1)


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
