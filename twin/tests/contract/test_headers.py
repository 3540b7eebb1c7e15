"""The form of the keys of tokens."""

from __future__ import annotations

from twin.tests.contract.faces import Place


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
