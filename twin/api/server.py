"""The HTTP server: raw ASGI on uvicorn, bearer tokens on every path, watches as endless answers.

The engine and the requests share one event loop, so an answer always sees one moment of the
cluster.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any

from twin.api import clock_control, presenting
from twin.api.access import ADMIN, Identity
from twin.api.account_tokens import AccountTokens
from twin.api.api_faults import ApiFaults
from twin.api.headers import decode_headers
from twin.api.journal import Journal
from twin.api.messages import (
    WRITING,
    Request,
    Response,
    StreamedResponse,
    WatchResponse,
    respond,
)
from twin.api.rbac_access import NOBODY, Access
from twin.api.receiving import ClientGone, Receive, Receiver, too_busy
from twin.api.round_robin import RoundRobin
from twin.api.router import Router
from twin.api.streaming import stream
from twin.api.tokens import Tokens
from twin.engine import Engine
from twin.errors import ApiError
from twin.pace import Pace
from twin.webhooks.answers import CallsNeeded, WebhookAnswers
from twin.webhooks.calling import call_all

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/livez"})
REVIEW_PATHS = ("/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/")
"""Their objects are created to be answered, not to be kept."""
_TOKEN_PATH = re.compile(r"/api/v1/namespaces/[^/]+/serviceaccounts/[^/]+/token/?$")
ANNOTATIONS = "foresail.annotations"
"""What is said about a request, besides its answer, in the scope of ASGI."""
MOST_HEARINGS = 32
"""Writes about which webhooks are asked at a time."""
MOST_WATCHES = 128
"""Watches of one user at a time."""

_UNCACHED = (b"cache-control", b"no-cache, private")
"""As a real server has it: without it a client's cache takes a Date ahead of its clock for fresh."""
Answer = Response | StreamedResponse | WatchResponse
Send = Callable[[dict[str, Any]], Awaitable[None]]


class ApiServer:
    """The ASGI application."""

    def __init__(
        self,
        engine: Engine,
        tokens: Tokens,
        journal: Journal | None = None,
        pace: Pace | None = None,
        accounts: AccountTokens | None = None,
    ) -> None:
        """Serve `engine` to every client with a token; write its changes to `journal`. With a `pace`
        the administrator may change how fast cluster time passes. `accounts` signs
        tokens of service accounts.
        """
        self._engine = engine
        self._journal = journal
        self._pace = pace
        self._accounts = accounts or AccountTokens(engine)
        self._accounts.others = tokens.person
        self.router = Router(engine, self._accounts)
        self._faults = ApiFaults(engine)
        self._receiver = Receiver()
        self._watches: Counter[str] = Counter()
        self._turns = RoundRobin()
        # YAML is written beside others' requests, since it takes up to seconds.
        self._writer = ThreadPoolExecutor(1, "twin-yaml-writer")
        self._caller = ThreadPoolExecutor(MOST_HEARINGS, "twin-webhooks")

    @property
    def now(self) -> float:
        """Cluster time, seconds since the Unix epoch."""
        return self._engine.now

    @property
    def access(self) -> Access:
        """Who may do what."""
        return self.router.access

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        headers = decode_headers(scope)
        identity = self.identity_of(headers)
        if identity is None:  # before anything else is read
            await self._send(send, self._for_a_stranger(scope, headers))
            return
        await self._answer(scope, headers, identity, receive, send)

    async def _answer(
        self,
        scope: dict[str, Any],
        headers: dict[str, str],
        identity: Identity,
        receive: Receive,
        send: Send,
    ) -> None:
        """Read a request of somebody who is known, and answer it."""
        try:
            request = await self._receiver.request(scope, headers, receive)
        except ApiError as error:
            await self._send(send, _closing_response(respond(error.status, error.to_status())))
            return
        except ClientGone:
            return
        if self._pace is not None:
            self._pace.asked = True
        if delay := self._faults.latency_seconds(request):
            await asyncio.sleep(delay)
        answer = await self._hear(request, identity, scope)
        style = presenting.response_style(answer, request)
        if style is not None and not isinstance(answer, WatchResponse):
            answer = await self._restyle_in_turns(answer, style)
        if isinstance(answer, WatchResponse):
            if presenting.reads_protobuf_alone(headers.get("accept", "")):
                answer = presenting.in_frames(answer)
            await self._watch(answer, request, identity, receive, send)
        elif isinstance(answer, StreamedResponse):
            await self._send_chunks(send, answer)
        else:
            await self._send(send, answer)

    def identity_of(self, headers: dict[str, str]) -> Identity | None:
        """Return who sends these headers; None for a token that is nobody's."""
        if "authorization" not in headers and self.router.access.rbac:
            return NOBODY
        scheme, _, token = headers.get("authorization", "").partition(" ")
        found = self._accounts.person(token.strip()) if scheme.lower() == "bearer" else None
        return None if found is None else found[0]

    def _for_a_stranger(self, scope: dict[str, Any], headers: dict[str, str]) -> Response:
        """Answer a client without a token and close its connection, so that it holds none."""
        if scope["path"] in OPEN_PATHS and scope["method"] in ("GET", "HEAD"):
            answer = self.router.handle(Request(scope["method"], scope["path"], {}, headers), ADMIN)
            assert isinstance(answer, Response)
            return _closing_response(answer)
        unauthorized = ApiError(401, "Unauthorized", "Unauthorized")
        return _closing_response(respond(401, unauthorized.to_status()))

    async def _restyle_in_turns(
        self, answer: Response | StreamedResponse, style: presenting.Style
    ) -> Response:
        """Return an answer in another style, made while others have their turn."""
        if isinstance(answer, StreamedResponse):
            parts, size = [], 0
            try:
                async for chunk in self._turns.pieces(answer.chunks):
                    parts.append(chunk)
                    size += len(chunk)
                    if size > presenting.LARGEST:
                        return presenting.too_long()
            finally:
                answer.close()
            answer = Response(200, b"".join(parts), answer.content_type)
        if len(answer.body) > presenting.LARGEST:
            return presenting.too_long()
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._writer, presenting.restyle, answer, style)

    async def _hear(self, request: Request, identity: Identity, scope: dict[str, Any]) -> Answer:
        """Answer a request; a write about which webhooks have to be asked is tried again with their answers,
        while others have their turn.
        """
        if self._pace is not None and request.path == clock_control.PATH:
            return clock_control.control_clock(
                request, self._engine, self._pace, may_write=identity is ADMIN
            )
        if refusal := self._faults.refusal(request):
            return refusal
        if request.method not in WRITING or self.router.asks_nobody:
            return self.handle_and_journal(request, identity)
        webhook_answers = WebhookAnswers(self._engine.now)
        scope[ANNOTATIONS] = webhook_answers.annotations
        request = replace(request, webhook_answers=webhook_answers)
        loop = asyncio.get_running_loop()
        while True:
            try:
                return self.handle_and_journal(request, identity)
            except CallsNeeded as needed:
                answers = await loop.run_in_executor(self._caller, call_all, needed.calls)
                webhook_answers.hear(needed.calls, answers)

    def handle_and_journal(self, request: Request, identity: Identity) -> Answer:
        """Answer a request; one that changed the cluster is in the journal before its answer or any
        watch line leaves, since nothing is sent in between.
        """
        before = self._engine.store.resource_version
        answer = self.router.handle(request, identity)
        if self._journal is None or request.method not in WRITING:
            return answer
        if request.path.startswith(REVIEW_PATHS) or _TOKEN_PATH.match(request.path):
            return answer
        accepted = isinstance(answer, Response) and answer.status < HTTPStatus.BAD_REQUEST
        if accepted or self._engine.store.resource_version != before:
            self._journal.note(self._engine.now, request, identity.name)
        return answer

    def _headers(self, answer: Answer) -> list[tuple[bytes, bytes]]:
        kind = [(b"content-type", answer.content_type.encode())] if answer.content_type else []
        kept = isinstance(answer, Response) and "Cache-Control" in answer.headers
        headers = [*kind, *(() if kept else (_UNCACHED,)), *_clock_headers(self._engine.now)]
        if isinstance(answer, Response):
            headers += [(k.lower().encode(), v.encode()) for k, v in answer.headers.items()]
            headers.append((b"content-length", b"%d" % len(answer.body)))
        return headers

    async def _send(self, send: Send, answer: Response) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": answer.status,
                "headers": self._headers(answer),
            }
        )
        await send({"type": "http.response.body", "body": answer.body})

    async def _send_chunks(self, send: Send, answer: StreamedResponse) -> None:
        try:
            await send(
                {"type": "http.response.start", "status": 200, "headers": self._headers(answer)}
            )
            async for chunk in self._turns.pieces(answer.chunks):
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        finally:
            answer.close()

    async def _watch(
        self,
        answer: WatchResponse,
        request: Request,
        identity: Identity,
        receive: Receive,
        send: Send,
    ) -> None:
        if self._watches[identity.name] >= MOST_WATCHES:
            error = too_busy("watches", "of one user", MOST_WATCHES)
            await self._send(send, _closing_response(respond(error.status, error.to_status())))
            return
        self._watches[identity.name] += 1
        disconnected = asyncio.ensure_future(_wait_for_disconnect(receive))
        on_cut = partial(self._faults.on_cut, request)
        try:
            initial = self._turns.pieces(answer.initial)
            await stream(
                self._engine.store,
                answer,
                self._headers(answer),
                send,
                disconnected,
                on_cut,
                initial,
            )
        finally:
            self._watches[identity.name] -= 1
            disconnected.cancel()


@lru_cache(maxsize=8)
def _clock_headers(now: float) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers with the cluster time; many answers share one moment of the cluster."""
    moment = datetime.fromtimestamp(now, UTC)
    return (
        (b"date", format_datetime(moment, usegmt=True).encode()),
        (b"x-foresail-cluster-time", moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()),
    )


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def _closing_response(answer: Response) -> Response:
    """Return an answer that ends its connection."""
    headers = {**answer.headers, "Connection": "close"}
    if answer.status == HTTPStatus.TOO_MANY_REQUESTS:
        headers["Retry-After"] = "1"
    return replace(answer, headers=headers)
