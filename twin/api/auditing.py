"""The audit log around the API server: each request and its answer become events, by the policy.

It stands in front of everything else, so requests that are refused for their token, their size or by a fault
of a scenario are written as well. Times are cluster time, as everywhere in the cluster.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote

from twin.api.bodies import read_body
from twin.api.headers import IMPERSONATION, decode_headers
from twin.api.limits import LARGEST_BODY, read_json, read_yaml
from twin.api.messages import Request, json_bytes
from twin.api.patching import APPLY
from twin.api.receiving import Receive
from twin.api.server import ANNOTATIONS, ApiServer, Send
from twin.api.targets import Target, read_target
from twin.audit.events import Arrival, Trail
from twin.audit.log import AuditLog
from twin.audit.policy import COMPLETE, PANIC, RECEIVED, STARTED, AuditedRequest, Level
from twin.errors import ApiError
from twin.rbac.attributes import User

_DECISION, _REASON = "authorization.k8s.io/decision", "authorization.k8s.io/reason"
_ID_HEADER = "audit-id"
_LONGEST_ID = 64
_NOT_KEPT = ApiError(500, "InternalError", "Internal error occurred: failed to store audit event")


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
        headers = decode_headers(scope)
        trail = self._begin({"method": "GET", **scope}, headers)
        if trail is None:
            await self._server(scope, receive, send)
            return
        exchange = _Exchange(self._log, trail, self._server, headers, scope)
        if not trail.arrival.user.name:
            await self._server(scope, receive, exchange.refusing(send))
            return
        if not self._log.write(trail, RECEIVED, trail.arrival.at):
            await _refuse(send)
            return
        try:
            await self._server(scope, exchange.receiving(receive), exchange.sending(send))
        except Exception as error:
            trail.code, trail.message = 500, f"APIServer panic'd: {error}"
            self._log.write(trail, PANIC, self._server.now)
            raise
        exchange.complete()

    def _begin(self, scope: dict[str, Any], headers: dict[str, str]) -> Trail | None:
        """Return what is known of a request; None when nothing is to be written of it."""
        identity = self._server.identity_of(headers)
        user = User("")
        if identity is not None:
            user = User(identity.user, identity.uid, identity.all_groups, identity.extra)
        query = scope["query_string"].decode("latin-1")
        path = unquote(scope["path"])
        target = read_target(path.rstrip("/"), _bare_request(scope, query, headers))
        method = scope["method"].lower()
        verb = method if target is None else target.attributes.verb
        asked = AuditedRequest(
            user.name, user.groups, verb, path, None if target is None else target.selected
        )
        rule = self._log.policy.rule_for(asked)
        if rule.level == Level.NONE:
            return None
        raw = scope.get("raw_path") or path.encode()
        arrival = Arrival(
            headers.get(_ID_HEADER, "")[:_LONGEST_ID] or self._log.next_id(),
            raw.decode("latin-1") + (f"?{query}" if query else ""),
            verb,
            user,
            self._server.now,
            _addresses(scope, headers),
            headers.get("user-agent", ""),
            asked.attributes,
            "" if target is None else target.version,
        )
        trail = Trail(arrival, rule)
        if identity is None:
            trail.answered = ApiError(401, "Unauthorized", "Unauthorized").to_status()
        else:
            self._judge(trail, target, headers, method)
        return trail

    def _judge(
        self, trail: Trail, target: Target | None, headers: dict[str, str], method: str
    ) -> None:
        """Note for whom a request acts, and whether and why it may."""
        identity = self._server.identity_of(headers)
        assert identity is not None
        try:
            requester = self._server.access.requester(identity, headers)
        except ApiError:
            return  # who may not act for somebody is refused before rights are looked at
        if any(name.startswith(IMPERSONATION) for name in headers):
            trail.impersonated = User(
                requester.user, requester.uid, requester.all_groups, requester.extra
            )
        path = trail.arrival.uri.partition("?")[0]
        decision = (
            requester.decide_path(method, path)
            if target is None
            else requester.decide(target.selected)
        )
        trail.annotations = {
            _DECISION: "allow" if decision.allowed else "forbid",
            _REASON: decision.reason,
        }


class _Exchange:
    """Listens to what a client sends and what it is answered."""

    def __init__(
        self,
        log: AuditLog,
        trail: Trail,
        server: ApiServer,
        headers: dict[str, str],
        scope: dict[str, Any],
    ) -> None:
        self._log = log
        self._trail = trail
        self._server = server
        self._headers = headers
        self._scope = scope
        self._body: list[bytes] = []
        self._size = 0
        self._answer: list[bytes] = []
        self._listens = False
        self._over = False

    def receiving(self, receive: Receive) -> Receive:
        """Return `receive`, listened to."""
        if self._trail.rule.level < Level.METADATA:
            return receive

        async def listen() -> dict[str, Any]:
            message = await receive()
            part = message.get("body", b"")
            self._size += len(part)
            if self._size <= LARGEST_BODY:
                self._body.append(part)
            return message

        return listen

    def sending(self, send: Send) -> Send:
        """Return `send`, listened to; the end of an answer is written before its last part leaves."""

        async def listen(message: dict[str, Any]) -> None:
            if message["type"].endswith("http.response.start"):
                self._start(message)
            elif message["type"].endswith("http.response.body"):
                if self._listens:
                    self._answer.append(message.get("body", b""))
                if not message.get("more_body", False):
                    self.complete()
            await send(message)

        return listen

    def refusing(self, send: Send) -> Send:
        """Return `send` for a client without a valid token: one event, as its answer starts."""

        async def listen(message: dict[str, Any]) -> None:
            if message["type"].endswith("http.response.start"):
                self._trail.code = message["status"]
                self._log.write(self._trail, STARTED, self._server.now)
            await send(message)

        return listen

    def _start(self, message: dict[str, Any], code: int = 0) -> None:
        trail = self._trail
        message["headers"] = [
            *message.get("headers", ()),
            (_ID_HEADER.encode(), trail.arrival.audit_id.encode("latin-1")),
        ]
        trail.code = code or message["status"]
        kinds = [value for name, value in message["headers"] if name == b"content-type"]
        plain = bool(kinds) and kinds[-1].startswith(b"application/json")
        wanted = trail.rule.level >= Level.REQUEST_RESPONSE or trail.code >= 400
        # Who deletes is answered with a Status as well, which belongs to every level.
        self._listens = plain and (wanted or trail.arrival.verb.startswith("delete"))
        trail.sent = self._sent()
        trail.annotations = {**trail.annotations, **self._scope.get(ANNOTATIONS, {})}
        if trail.arrival.long_running:
            self._listens = self._listens and trail.code >= 400
            self._log.write(trail, STARTED, self._server.now)

    def complete(self) -> None:
        """Write the last event, once."""
        if self._over:
            return
        self._over = True
        trail = self._trail
        if self._answer:
            try:
                trail.answered = json.loads(b"".join(self._answer))
            except ValueError:
                trail.answered = None
        if not trail.code:
            trail.code, trail.message = 200, "Connection closed early"
        self._log.write(trail, COMPLETE, self._server.now)

    def _sent(self) -> Any:
        """Return the body as JSON; None when there is none that can be read."""
        body = b"".join(self._body)
        media = self._headers.get("content-type", "").partition(";")[0].strip()
        if not body or self._size > LARGEST_BODY:
            return None
        try:
            if media == APPLY:
                return read_yaml(body)
            if media.endswith("patch+json"):
                return read_json(body)
            return read_body(Request("POST", "", {}, {"content-type": media}, body))
        except (ApiError, ValueError, RecursionError):
            return None


def _bare_request(scope: dict[str, Any], query: str, headers: dict[str, str]) -> Request:
    pairs = [part.partition("=") for part in query.split("&") if part]
    known = {unquote(name): unquote(value.replace("+", " ")) for name, _, value in pairs}
    return Request(scope["method"], scope["path"], known, headers)


def _addresses(scope: dict[str, Any], headers: dict[str, str]) -> tuple[str, ...]:
    """Return where a request came from, through which proxies, nearest last."""
    stated = [part.strip() for part in headers.get("x-forwarded-for", "").split(",")]
    real = headers.get("x-real-ip", "").strip()
    near = (scope.get("client") or ("",))[0]
    found = [address for address in stated if address]
    found += [address for address in (real,) if address and address not in found]
    found += [address for address in (near,) if address and [address] != found[-1:]]
    return tuple(found)


async def _refuse(send: Send) -> None:
    """Answer that nothing is done."""
    body = json_bytes(_NOT_KEPT.to_status())
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
    ]
    await send({"type": "http.response.start", "status": 500, "headers": headers})
    await send({"type": "http.response.body", "body": body})
