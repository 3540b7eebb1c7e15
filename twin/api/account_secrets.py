"""Secrets with a service account's token that has no end, as kube-controller-manager's token controller fills them.

Each is filled by a request of its own, so that its token is in the journal and a re-run needs no key.
Upstream: pkg/controller/serviceaccount/tokens_controller.go.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator

from twin.api.account_tokens import AccountTokens
from twin.api.messages import JSON, WRITING, Request
from twin.engine import Engine
from twin.records import Object, ObjectRecord, Record

SECRET_TYPE = "kubernetes.io/service-account-token"
ACCOUNT, ACCOUNT_UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"
_ABOUT = re.compile(r"/api/v1/namespaces/([^/]+)/(?:secrets|serviceaccounts)(?:/|$)")
_MERGE = "application/merge-patch+json"


class AccountSecrets:
    """Says which requests fill, or delete, the Secrets of a namespace."""

    def __init__(self, engine: Engine, tokens: AccountTokens) -> None:
        """Look into this engine's store, and let `tokens` sign."""
        self._store = engine.store
        self._authority = engine.config.access.authority_pem
        self._tokens = tokens

    def follow(self, request: Request, send: Callable[[Request], object]) -> None:
        """After a request that changed Secrets or accounts, send what follows from it."""
        match = _ABOUT.match(request.path) if request.method in WRITING else None
        for wanted in list(self._wanted(match[1])) if match else ():
            send(wanted)

    def _wanted(self, namespace: str) -> Iterator[Request]:
        for secret in self._store.records("secrets", namespace):
            if not isinstance(secret, ObjectRecord) or secret.body.get("type") != SECRET_TYPE:
                continue
            path = f"/api/v1/namespaces/{namespace}/secrets/{secret.name}"
            account = self._account_of(secret)
            if account is None:
                body: Object = {"preconditions": {"uid": secret.uid}}
                yield _request("DELETE", path, JSON, body)
            elif patch := self._missing(secret, account):
                yield _request("PATCH", path, _MERGE, patch)

    def _account_of(self, secret: ObjectRecord) -> Record | None:
        """Return the account that a Secret is for; None once it is gone or is another one of that name."""
        name = secret.annotations.get(ACCOUNT, "")
        account = self._store.find("serviceaccounts", secret.namespace, name)
        if account is None or account.deletion_at is not None:
            return None
        return account if secret.annotations.get(ACCOUNT_UID) in (None, "", account.uid) else None

    def _missing(self, secret: ObjectRecord, account: Record) -> Object:
        """Return what a Secret lacks, as a merge patch."""
        given = secret.body.get("data") or {}
        wanted = {"namespace": _coded(secret.namespace)}
        if self._authority:
            wanted["ca.crt"] = _coded(self._authority)
        data = {key: value for key, value in wanted.items() if given.get(key) != value}
        if not given.get("token"):
            data["token"] = _coded(self._tokens.sign_for_secret(account, secret))
        patch: Object = {"data": data} if data else {}
        if secret.annotations.get(ACCOUNT_UID) != account.uid:
            patch["metadata"] = {"annotations": {ACCOUNT_UID: account.uid}}
        return patch


def _request(method: str, path: str, kind: str, body: Object) -> Request:
    query = {"fieldManager": "kube-controller-manager"} if method == "PATCH" else {}
    headers = {"content-type": kind, "accept": JSON}
    return Request(method, path, query, headers, json.dumps(body).encode())


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
