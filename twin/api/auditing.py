"""The audit log: a line for each request of a client, in the form of Kubernetes' `audit.k8s.io/v1` at level Metadata.

A request that is not a watch is written when its answer is complete, a watch when its answer starts. Times are cluster
time.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from inputs.errors import ConfigError
from twin.api.headers import IMPERSONATION, decode_headers
from twin.api.messages import Request
from twin.api.receiving import Receive
from twin.api.server import ANNOTATIONS, ApiServer, Send
from twin.api.targets import Target, read_target
from twin.encoding import json_of
from twin.errors import ApiError
from twin.rbac.attributes import User
from twin.records import Object
from twin.timestamps import rfc3339_micro

SETTING = "--audit-log"
STARTED, COMPLETE = "ResponseStarted", "ResponseComplete"
_DECISION, _REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
_ID_HEADER = "audit-id"
_LONGEST_AGENT = 1_024
_LONGEST_ID = 64


class AuditLog:
    """One open audit log."""

    def __init__(self, path: Path, nonce: str = "") -> None:
        """Open or begin the file. The ids of requests follow from `nonce`, which has to differ from
        one start to the next, and from their number.

        Raises:
            ConfigError: the file cannot be written.
        """
        self._nonce = nonce
        self._requests = 0
        try:
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        except OSError as error:
            why = f"choose a file that can be written ({error.strerror})"
            raise ConfigError(SETTING, path, why) from error

    def next_id(self) -> str:
        """Return the id of one more request."""
        self._requests += 1
        text = f"{self._nonce}/{self._requests}".encode()
        return str(UUID(bytes=hashlib.blake2b(text, digest_size=16).digest(), version=4))

    def write(self, event: Object) -> None:
        """Append an event; raises OSError."""
        os.write(self._file, json_of(event) + b"\n")


class AuditedServer:
    """The ASGI application of an API server whose requests are written to a log."""

    def __init__(self, server: ApiServer, log: AuditLog) -> None:
        """Let `server` answer, and write to `log`."""
        self._server = server
        self._log = log

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._server(scope, receive, send)
            return
        event = self._event(scope, decode_headers(scope))
        watches = event["verb"] == "watch"

        async def listen(message: dict[str, Any]) -> None:
            if message["type"] == "http.response.start":
                event["responseStatus"] = {"metadata": {}, "code": message["status"]}
                named = (_ID_HEADER.encode(), event["auditID"].encode("latin-1"))
                message["headers"] = [*message.get("headers", ()), named]
                if watches:
                    self._write(event, STARTED, scope)
            elif not watches and not message.get("more_body", False):
                self._write(event, COMPLETE, scope)  # before the answer's last part leaves
            await send(message)

        await self._server(scope, receive, listen)

    def _write(self, event: Object, stage: str, scope: dict[str, Any]) -> None:
        notes = {**event["annotations"], **scope.get(ANNOTATIONS, {})}
        at = rfc3339_micro(self._server.now)
        self._log.write({**event, "stage": stage, "stageTimestamp": at, "annotations": notes})

    def _event(self, scope: dict[str, Any], headers: dict[str, str]) -> Object:
        """Return what is known of a request when it arrives."""
        query = scope["query_string"].decode("latin-1")
        path = unquote(scope["path"])
        pairs = [part.partition("=") for part in query.split("&") if part]
        known = {unquote(name): unquote(value.replace("+", " ")) for name, _, value in pairs}
        asked = Request(scope["method"], scope["path"], known, headers)
        target = read_target(path.rstrip("/"), asked)
        event: Object = {
            "kind": "Event",
            "apiVersion": "audit.k8s.io/v1",
            "level": "Metadata",
            "auditID": headers.get(_ID_HEADER, "")[:_LONGEST_ID] or self._log.next_id(),
            "requestURI": path + (f"?{query}" if query else ""),
            "verb": scope["method"].lower() if target is None else target.attributes.verb,
            "user": {},
            "userAgent": headers.get("user-agent", "")[:_LONGEST_AGENT],
            "requestReceivedTimestamp": rfc3339_micro(self._server.now),
            "annotations": {},
        }
        if target is not None:
            event["objectRef"] = _reference(target)
        self._judge(event, target, headers, scope["method"].lower())
        return event

    def _judge(
        self, event: Object, target: Target | None, headers: dict[str, str], method: str
    ) -> None:
        """Note who asks, for whom, and whether and why it may."""
        identity = self._server.identity_of(headers)
        if identity is None:
            return
        event["user"] = _user(
            User(identity.user, identity.uid, identity.all_groups, identity.extra)
        )
        try:
            requester = self._server.access.requester(identity, headers)
        except ApiError:
            return  # who may not act for somebody is refused before rights are looked at
        if any(name.startswith(IMPERSONATION) for name in headers):
            event["impersonatedUser"] = _user(
                User(requester.user, requester.uid, requester.all_groups, requester.extra)
            )
        path = event["requestURI"].partition("?")[0]
        decision = (
            requester.decide_path(method, path)
            if target is None
            else requester.decide(target.selected)
        )
        allowed = "allow" if decision.allowed else "forbid"
        event["annotations"] = {_DECISION: allowed, _REASON: decision.reason}


def _reference(target: Target) -> Object:
    named = target.attributes
    reference = {
        "resource": named.resource,
        "namespace": named.namespace,
        "name": named.name,
        "apiGroup": named.group,
        "apiVersion": target.version,
        "subresource": named.subresource,
    }
    return {name: value for name, value in reference.items() if value}


def _user(user: User) -> Object:
    shown: Object = {
        "username": user.name,
        "uid": user.uid,
        "groups": list(user.groups),
        "extra": {key: list(values) for key, values in user.extra},
    }
    return {name: value for name, value in shown.items() if value}
