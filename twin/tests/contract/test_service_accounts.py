"""Service accounts and their tokens, as an API server with its controllers has them."""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from tests.patience import HANGS_SECONDS
from twin.tests.contract.faces import Answer, Face, Place, config_map, pod

REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
SERVER = "https://kubernetes.default.svc"
_numbers = count(1)


@pytest.fixture
def crew(rbac_face: Face) -> Place:
    """Return a new namespace where RBAC is on."""
    name = f"crew-{os.getpid()}-{next(_numbers)}"
    response = rbac_face.ask("POST", "/api/v1/namespaces", body={"metadata": {"name": name}})
    assert response.status == 201, response.text
    return Place(rbac_face, name)


def _until(promise: Callable[[], bool]) -> None:
    deadline = time.monotonic() + HANGS_SECONDS
    while not promise():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def _request(place: Place, account: str, **spec: Any) -> Answer:
    body = {"spec": spec}
    return place.ask("POST", "serviceaccounts", account, subresource="token", body=body)


def _review(place: Place, token: str, *audiences: str) -> dict[str, Any]:
    spec = {"token": token, **({"audiences": list(audiences)} if audiences else {})}
    response = place.face.ask("POST", REVIEWS, body={"spec": spec})
    assert response.status == 201, response.text
    status: dict[str, Any] = response.body["status"]
    return status


def _claims(token: str) -> dict[str, Any]:
    part = token.split(".")[1]
    claims: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return claims


def test_every_namespace_has_an_account_and_the_authority(crew: Place) -> None:
    """`default` and `kube-root-ca.crt` come with a namespace, and come back when they are deleted."""
    _until(lambda: crew.ask("GET", "serviceaccounts", "default").status == 200)
    _until(lambda: crew.ask("GET", "configmaps", "kube-root-ca.crt").status == 200)
    content = crew.ask("GET", "configmaps", "kube-root-ca.crt").body
    assert list(content["data"]) == ["ca.crt"]
    assert crew.ask("DELETE", "configmaps", "kube-root-ca.crt").status == 200
    _until(lambda: crew.ask("GET", "configmaps", "kube-root-ca.crt").status == 200)
    changed = {**config_map("kube-root-ca.crt"), "data": {"ca.crt": "mine", "more": "x"}}
    assert crew.ask("PUT", "configmaps", "kube-root-ca.crt", body=changed).status == 200
    _until(
        lambda: crew.ask("GET", "configmaps", "kube-root-ca.crt").body["data"] == content["data"]
    )
    assert crew.ask("DELETE", "serviceaccounts", "default").status == 200
    _until(lambda: crew.ask("GET", "serviceaccounts", "default").status == 200)


def test_a_token_says_whose_it_is(crew: Place) -> None:
    """A token names issuer, audience, times and account, and a review of it the user and its groups."""
    made = crew.make("serviceaccounts", {"metadata": {"name": "robot"}})
    response = _request(crew, "robot")
    assert response.status == 201, response.text
    token = response.body["status"]["token"]
    claims = _claims(token)
    assert claims["exp"] - claims["iat"] == response.body["spec"]["expirationSeconds"] == 3600
    assert (claims["iss"], claims["aud"]) == (SERVER, [SERVER])
    user = f"system:serviceaccount:{crew.namespace}:robot"
    assert claims["sub"] == user
    assert claims["kubernetes.io"] == {
        "namespace": crew.namespace,
        "serviceaccount": {"name": "robot", "uid": made["metadata"]["uid"]},
    }
    status = _review(crew, token)
    assert status["authenticated"] is True
    assert status["audiences"] == [SERVER]
    assert status["user"] == {
        "username": user,
        "uid": made["metadata"]["uid"],
        "groups": [
            "system:serviceaccounts",
            f"system:serviceaccounts:{crew.namespace}",
            "system:authenticated",
        ],
        "extra": {"authentication.kubernetes.io/credential-id": [f"JTI={claims['jti']}"]},
    }


def test_a_token_is_for_its_audience_alone(crew: Place) -> None:
    """A token for others is not the API server's, and a review names the audiences that both know."""
    crew.make("serviceaccounts", {"metadata": {"name": "robot"}})
    token = _request(crew, "robot", audiences=["vault", "shop"]).body["status"]["token"]
    assert not _review(crew, token).get("authenticated")
    assert not _review(crew, token, "bank").get("authenticated")
    assert _review(crew, token, "bank", "shop")["audiences"] == ["shop"]


def test_what_is_no_token_is_nobody(crew: Place) -> None:
    """Other text, and a token with a changed claim, are nobody; no text at all is 400."""
    crew.make("serviceaccounts", {"metadata": {"name": "robot"}})
    head, body, signature = _request(crew, "robot").body["status"]["token"].split(".")
    claims = {**_claims(f"{head}.{body}.{signature}"), "sub": "system:admin"}
    forged = base64.urlsafe_b64encode(json.dumps(claims).encode()).rstrip(b"=").decode()
    for text in ("x", "x.y.z", f"{head}.{forged}.{signature}", f"{head}.{body}."):
        status = _review(crew, text)
        assert not status.get("authenticated"), text
        assert "invalid bearer token" in status["error"]
    response = crew.face.ask("POST", REVIEWS, body={"spec": {"token": ""}})
    assert response.status == 400


def test_what_a_token_cannot_be(crew: Place) -> None:
    """Times, objects and accounts that will not do are refused in the API server's words."""
    crew.make("serviceaccounts", {"metadata": {"name": "robot"}})
    crew.make("serviceaccounts", {"metadata": {"name": "other"}})
    crew.make("pods", pod("theirs", serviceAccountName="other"))
    crew.make("pods", pod("ours", serviceAccountName="robot"))
    reference = {"kind": "Pod", "apiVersion": "v1"}
    for spec, code, message in (
        ({"expirationSeconds": 599}, 422, "may not specify a duration less than 10 minutes"),
        ({"expirationSeconds": 2**32 + 1}, 422, "a duration larger than 2^32 seconds"),
        (
            {"boundObjectRef": {"kind": "Foo", "apiVersion": "v1", "name": "x"}},
            400,
            "cannot bind token to object of type /v1, Kind=Foo",
        ),
        ({"boundObjectRef": {**reference, "name": "nobody"}}, 404, 'pods "nobody" not found'),
        ({"boundObjectRef": {**reference, "name": "theirs"}}, 400, "different serviceaccount name"),
        ({"boundObjectRef": {**reference, "name": "ours", "uid": "z"}}, 409, "reference (z) does"),
    ):
        response = _request(crew, "robot", **spec)
        assert response.status == code, response.text
        assert message in response.body["message"]
    response = _request(crew, "nobody")
    assert (response.status, response.body["message"]) == (
        404,
        'serviceaccounts "nobody" not found',
    )
    assert crew.ask("GET", "serviceaccounts", "robot", subresource="token").status == 405


@pytest.mark.parametrize("kind", ["Pod", "Secret"])
def test_a_bound_token_dies_with_its_object(crew: Place, kind: str) -> None:
    """A token that is bound to an object is valid while the object is there, and no other one of its name."""
    crew.make("serviceaccounts", {"metadata": {"name": "robot"}})
    plural, body = {
        "Pod": ("pods", pod("thing", serviceAccountName="robot")),
        "Secret": ("secrets", {"metadata": {"name": "thing"}}),
    }[kind]
    made = crew.make(plural, body)
    reference = {"kind": kind, "apiVersion": "v1", "name": "thing"}
    token = _request(crew, "robot", boundObjectRef=reference).body["status"]["token"]
    bound = _claims(token)["kubernetes.io"][kind.lower()]
    assert bound == {"name": "thing", "uid": made["metadata"]["uid"]}
    assert _review(crew, token)["authenticated"] is True
    crew.ask("DELETE", plural, "thing", body={"gracePeriodSeconds": 0})
    _until(lambda: crew.ask("GET", plural, "thing").status == 404)
    crew.make(plural, body)
    _until(lambda: not _review(crew, token).get("authenticated"))


def test_a_token_dies_with_its_account(crew: Place) -> None:
    """The account's next namesake does not get its tokens."""
    body = {"metadata": {"name": "robot"}}
    crew.make("serviceaccounts", body)
    token = _request(crew, "robot").body["status"]["token"]
    assert crew.ask("DELETE", "serviceaccounts", "robot").status == 200
    crew.make("serviceaccounts", body)
    _until(lambda: not _review(crew, token).get("authenticated"))


def test_a_pod_of_an_unknown_account_is_refused(crew: Place) -> None:
    """403 names the account; a pod that names none runs as `default`, from the namespace's first moment."""
    if not crew.face.simulated:
        pytest.skip("this API server has no ServiceAccount admission")
    made = crew.make("pods", pod("first"))
    assert made["spec"]["serviceAccountName"] == made["spec"]["serviceAccount"] == "default"
    response = crew.ask("POST", "pods", body=pod("second", serviceAccountName="ghost"))
    assert (response.status, response.reason) == (403, "Forbidden")
    assert response.body["message"] == (
        f'pods "second" is forbidden: error looking up service account {crew.namespace}/ghost: '
        'serviceaccount "ghost" not found'
    )
