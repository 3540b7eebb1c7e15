"""Headers that every answer of a Kubernetes API server has."""

from __future__ import annotations

from uuid import UUID

import pytest

from twin.tests.contract.faces import OverHttp, Place

FLOW = ("X-Kubernetes-PF-FlowSchema-UID", "X-Kubernetes-PF-PriorityLevel-UID")


@pytest.mark.parametrize(
    ("path", "status"),
    [("/api/v1/namespaces", 200), ("/version", 200), ("/readyz", 200), ("/api", 200),
     ("/api/v1/namespaces/none-of-these", 404), ("/apis/none.of.these", 404)],
)  # fmt: skip
def test_an_answer_names_its_flow(over_http: Place, path: str, status: int) -> None:
    """FlowSchema and priority level by uid: the same for all requests of an administrator."""
    usual = over_http.face.ask("GET", "/api/v1/pods").headers
    answer = over_http.face.ask("GET", path)
    assert answer.status == status
    for name in FLOW:
        assert str(UUID(answer.headers[name])) == answer.headers[name] == usual[name]


def test_keys_have_a_form_of_their_own(over_http: Place) -> None:
    """Who wants JSON and nothing else does not get the keys of tokens."""
    keys = "application/jwk-set+json"
    refused = over_http.face.ask("GET", "/openid/v1/jwks")
    assert (refused.status, refused.reason) == (406, "NotAcceptable")
    assert refused.body["message"] == f"406: Not Acceptable\n\nAvailable representations: {keys}"
    for accept in (keys, "*/*", f"application/json, {keys}"):
        answer = over_http.face.ask("GET", "/openid/v1/jwks", accept=accept)
        assert (answer.status, answer.headers["Content-Type"]) == (200, keys)
        assert answer.body["keys"][0]["use"] == "sig"
    assert over_http.face.ask("GET", "/.well-known/openid-configuration").status == 200


def test_a_watch_names_its_flow(over_http: Place) -> None:
    """Before its first line."""
    query = {"watch": "true", "timeoutSeconds": "1"}
    answer = over_http.ask("GET", "configmaps", query=query)
    assert set(map(str.lower, FLOW)) <= set(answer.headers)


def test_a_stranger_has_no_flow(over_http: Place) -> None:
    """Who a wrong token is of is asked before anything waits in a queue."""
    assert isinstance(over_http.face, OverHttp)
    answer = over_http.face.ask_as("nobody's", "/api/v1/pods")
    assert answer.status == 401
    assert not set(map(str.lower, FLOW)) & set(answer.headers)
