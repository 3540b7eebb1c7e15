"""Tokens of service accounts over time, over restarts and in the state."""

from __future__ import annotations

import json
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec

from twin.api.account_tokens import LEEWAY_SECONDS, AccountTokens
from twin.api.messages import Request, Response
from twin.api.router import Router
from twin.api.tokens import Tokens
from twin.config import TwinConfig
from twin.config.access import AccessConfig
from twin.engine import Engine

ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


def _engine(certificate: str = "") -> Engine:
    engine = Engine(TwinConfig(access=AccessConfig("rbac", certificate)), 1)
    engine.advance(engine.now + 1.0)
    return engine


def _token(router: Router, **spec: Any) -> str:
    body = json.dumps({"spec": spec}).encode()
    answer = router.handle(Request("POST", f"{ACCOUNT}/token", {}, {}, body))
    assert isinstance(answer, Response)
    assert answer.status == 201, answer.body
    token: str = json.loads(answer.body)["status"]["token"]
    return token


def test_a_token_expires_by_cluster_time() -> None:
    """It is valid for the seconds that were asked for, and not one more."""
    engine = _engine()
    tokens = AccountTokens(engine)
    token = _token(Router(engine, tokens), expirationSeconds=700)
    engine.advance(engine.now + 699.0)
    assert tokens.person(token) is not None
    engine.advance(engine.now + 1.0)
    assert tokens.person(token) is None


def test_a_key_that_is_kept_keeps_its_tokens() -> None:
    """After a restart with the same key a token is valid; with another key it is nobody's."""
    engine, key = _engine(), ec.generate_private_key(ec.SECP256R1())
    token = _token(Router(engine, AccountTokens(engine, key)))
    assert AccountTokens(engine, key).person(token) is not None
    assert AccountTokens(engine).person(token) is None


def test_a_pod_that_ends_leaves_its_token_a_minute() -> None:
    """A token bound to a pod lives until a minute after the pod's deletionTimestamp."""
    engine = _engine()
    engine.store.create(
        "pods",
        "default",
        {
            "metadata": {"name": "p", "finalizers": ["example.com/wait"]},
            "spec": {"containers": [{"name": "c", "image": "i"}]},
        },
    )
    tokens = AccountTokens(engine)
    reference = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    token = _token(Router(engine, tokens), boundObjectRef=reference)
    engine.store.delete("pods", "default", "p", grace_period_seconds=0)
    assert tokens.person(token) is not None
    engine.advance(engine.now + LEEWAY_SECONDS + 1.0)
    assert tokens.person(token) is None


def test_tokens_and_certificate_are_in_no_state_hash() -> None:
    """Asking for a token changes nothing, and worlds that differ in their authority alone have one hash."""
    first, second = _engine("-----BEGIN\nA\n"), _engine("-----BEGIN\nB\n")
    assert first.store.get("configmaps", "default", "kube-root-ca.crt")["data"] == {
        "ca.crt": "-----BEGIN\nA\n"
    }
    before = first.state_hash()
    _token(Router(first))
    assert first.state_hash() == before == second.state_hash()


def test_a_review_knows_the_twins_own_tokens() -> None:
    """The tokens of the fixed identities are theirs, for the API server alone."""
    engine, fixed = _engine(), Tokens.draw()
    tokens = AccountTokens(engine)
    tokens.others = fixed.person
    found = tokens.person(fixed.of_all()["reader"])
    assert found is not None
    assert found[0].user == "foresail:reader"
    assert tokens.person(fixed.of_all()["reader"], ("vault",)) is None
