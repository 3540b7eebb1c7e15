"""Tokens of service accounts: signed JWTs with audience and expiry, bound to objects that have to be there.

They are computed, never kept: neither state nor journal knows them, so their randomness and their times
are in no state hash. They expire by cluster time. (Those that Secrets hold are written like anything
else.) Source: kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin and authentication,
and RFC 7515, 7517 and 7519.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import (
    decode_dss_signature,
    encode_dss_signature,
)

from twin.api.access import Identity
from twin.api.tokens import draw_id
from twin.engine import Engine
from twin.rbac.attributes import account_groups, account_user
from twin.records import Object, ObjectRecord, Record

LASTING, _LASTING_CLAIM = "kubernetes/serviceaccount", "kubernetes.io/serviceaccount"
"""Who signs the tokens that Secrets hold, which have no end, and what their claims begin with."""
ISSUER = "https://kubernetes.default.svc"
"""Who signs; also the audience of the API server itself."""
LEEWAY_SECONDS = 60.0
"""Cluster seconds that a token outlives the deletionTimestamp of what it is bound to."""
_NUMBER_BYTES = 32
_LONGEST = 16 << 10
_EXTRA = "authentication.kubernetes.io/"
_BOUND = {"pod": "pods", "secret": "secrets", "node": "nodes"}
Person = tuple[Identity, tuple[str, ...]]
"""Who a token is for, and its audiences among those that were asked for."""


class AccountTokens:
    """Signs tokens of the service accounts of one engine, and says whose a token is."""

    def __init__(self, engine: Engine, key: ec.EllipticCurvePrivateKey | None = None) -> None:
        """Sign with a P-256 key; without one, with a key of this process alone."""
        self._engine = engine
        self._given = key
        self.others: Callable[[str], Identity | None] = lambda _token: None
        """Whose a token is that is no service account's."""

    @cached_property
    def _key(self) -> ec.EllipticCurvePrivateKey:
        return self._given or ec.generate_private_key(ec.SECP256R1())

    @cached_property
    def _key_id(self) -> str:
        point = self._key.public_key().public_bytes(
            serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo
        )
        return _text(hashlib.sha256(point).digest())

    def sign(
        self, account: Record, audiences: Sequence[str], seconds: int, bound: dict[str, Record]
    ) -> tuple[str, float]:
        """Return a token of an account and when it expires, unix seconds of cluster time; `bound` are
        the objects it depends on by `pod`, `secret` or `node`.
        """
        now = int(self._engine.now)
        inner: Object = {
            "namespace": account.namespace,
            "serviceaccount": _reference(account),
            **{word: _reference(record) for word, record in bound.items()},
        }
        claims = {
            "aud": list(audiences),
            "exp": now + seconds,
            "iat": now,
            "iss": ISSUER,
            "jti": draw_id(),
            "kubernetes.io": inner,
            "nbf": now,
            "sub": account_user(account.namespace, account.name),
        }
        return self._signed(claims), float(now + seconds)

    def sign_for_secret(self, account: Record, secret: Record) -> str:
        """Return a token of an account that is valid as long as the Secret has it."""
        claims = {
            "iss": LASTING,
            f"{_LASTING_CLAIM}/namespace": account.namespace,
            f"{_LASTING_CLAIM}/secret.name": secret.name,
            f"{_LASTING_CLAIM}/service-account.name": account.name,
            f"{_LASTING_CLAIM}/service-account.uid": account.uid,
            "sub": account_user(account.namespace, account.name),
        }
        return self._signed(claims)

    def _signed(self, claims: Object) -> str:
        signed = f"{_json({'alg': 'ES256', 'kid': self._key_id})}.{_json(claims)}"
        pair = decode_dss_signature(self._key.sign(signed.encode(), ec.ECDSA(hashes.SHA256())))
        signature = b"".join(number.to_bytes(_NUMBER_BYTES) for number in pair)
        return f"{signed}.{_text(signature)}"

    def person(self, token: str, audiences: Sequence[str] = (ISSUER,)) -> Person | None:
        """Return whose a valid token is; None for one that is false, expired or for others, and for one
        whose account, or what it is bound to, is gone.
        """
        other = self.others(token)
        if other is not None:
            return (other, tuple(audiences)) if ISSUER in audiences else None
        claims = self._claims(token)
        if claims is not None and claims["iss"] == LASTING:
            return self._lasting_person(token, claims) if ISSUER in audiences else None
        if claims is None or not claims["nbf"] <= self._engine.now < claims["exp"]:
            return None
        shared = tuple(word for word in audiences if word in claims["aud"])
        inner = claims["kubernetes.io"]
        namespace, account = inner["namespace"], inner["serviceaccount"]
        present = self._is_there("serviceaccounts", namespace, account) and all(
            self._is_there(resource, namespace, inner[word])
            for word, resource in _BOUND.items()
            if word in inner and not (word == "node" and "pod" in inner)
        )
        if not shared or not present:
            return None
        extra = {"credential-id": f"JTI={claims['jti']}"}
        for word in ("node", "pod"):
            if word in inner:
                extra[f"{word}-name"] = inner[word]["name"]
                extra[f"{word}-uid"] = inner[word]["uid"]
        user = claims["sub"]
        who = Identity(
            user,
            (),
            account_groups(namespace),
            paths=(),
            stranger=user,
            given_uid=account["uid"],
            more=tuple((f"{_EXTRA}{key}", (value,)) for key, value in sorted(extra.items())),
        )
        return who, shared

    def _lasting_person(self, token: str, claims: Object) -> Person | None:
        """Return whose token a Secret holds; None once it does not any more."""
        namespace, secret, name, uid = (
            claims[f"{_LASTING_CLAIM}/{part}"]
            for part in ("namespace", "secret.name", "service-account.name", "service-account.uid")
        )
        held = self._engine.store.find("secrets", namespace, secret)
        account = {"name": name, "uid": uid}
        if not isinstance(held, ObjectRecord) or held.deletion_at is not None:
            return None
        coded = base64.b64encode(token.encode()).decode()
        if (held.body.get("data") or {}).get("token") != coded or not self._is_there(
            "serviceaccounts", namespace, account
        ):
            return None
        user = claims["sub"]
        groups = account_groups(namespace)
        return Identity(user, (), groups, paths=(), stranger=user, given_uid=uid), (ISSUER,)

    def key_set(self) -> Object:
        """Return the public key by which others check tokens (RFC 7517)."""
        numbers = self._key.public_key().public_numbers()
        x, y = (_text(number.to_bytes(_NUMBER_BYTES)) for number in (numbers.x, numbers.y))
        key = {"use": "sig", "kty": "EC", "kid": self._key_id, "crv": "P-256", "alg": "ES256"}
        return {"keys": [{**key, "x": x, "y": y}]}

    def _is_there(self, resource: str, namespace: str, named: Object) -> bool:
        home = "" if resource == "nodes" else namespace
        record = self._engine.store.find(resource, home, named["name"])
        if record is None or record.uid != named["uid"]:
            return False
        gone_at = record.deletion_at
        return gone_at is None or self._engine.now < gone_at + LEEWAY_SECONDS

    def _claims(self, token: str) -> Any:
        """Return what a token of ours says; None for any other text."""
        parts = token.split(".")
        if len(parts) != 3 or len(token) > _LONGEST:
            return None
        try:
            signature = _bytes(parts[2])
            if json.loads(_bytes(parts[0])).get("kid") != self._key_id:
                return None
            pair = (signature[:_NUMBER_BYTES], signature[_NUMBER_BYTES:])
            numbers = [int.from_bytes(half) for half in pair]
            signed = f"{parts[0]}.{parts[1]}".encode()
            self._key.public_key().verify(
                encode_dss_signature(*numbers), signed, ec.ECDSA(hashes.SHA256())
            )
            return json.loads(_bytes(parts[1]))
        except (ValueError, AttributeError, InvalidSignature, RecursionError):
            return None


def _reference(record: Record) -> Object:
    return {"name": record.name, "uid": record.uid}


def _json(content: Object) -> str:
    return _text(json.dumps(content, separators=(",", ":")).encode())


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _bytes(text: str) -> bytes:
    return base64.urlsafe_b64decode(text.encode() + b"=" * (-len(text) % 4))
