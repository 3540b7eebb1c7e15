"""The HTTP server: raw ASGI on uvicorn, bearer tokens on every path, watches as endless answers.

The engine and the requests share one event loop, so an answer always sees one moment of the
cluster.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache, partial
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote

from twin.api import clock_control
from twin.api.access import ADMIN, Identity
from twin.api.messages import Request, Response, StreamedResponse, WatchResponse, respond
from twin.api.patching import APPLY
from twin.api.presenting import presented
from twin.api.router import LARGEST_BODY, WRITING, Router
from twin.api.streaming import stream
from twin.api.tokens import Tokens
from twin.engine import Engine
from twin.errors import ApiError
from twin.faults.api_faults import ApiFaults
from twin.journal import Journal
from twin.pace import Pace

OPEN_PATHS = frozenset({"/healthz", "/readyz", "/livez"})
REVIEW_PATHS = ("/apis/authorization.k8s.io/", "/apis/authentication.k8s.io/")
"""Their objects are created to be answered, not to be kept."""

Answer = Response | StreamedResponse | WatchResponse
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class ApiServer:
    """The ASGI application."""

    def __init__(
        self,
        engine: Engine,
        tokens: Tokens,
        journal: Journal | None = None,
        pace: Pace | None = None,
    ) -> None:
        """Serve `engine` to whoever has a token; keep what changes it in `journal`. With a `pace`
        the administrator may change how fast cluster time passes.
        """
        self._engine = engine
        self._journal = journal
        self._pace = pace
        self._router = Router(engine)
        self._faults = ApiFaults(engine)
        self._tokens = tokens

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        request = await _request(scope, receive)
        if self._pace is not None:
            self._pace.asked = True
        identity = self._tokens.identity(request.headers.get("authorization", ""))
        if identity is None and request.path in OPEN_PATHS:
            identity = ADMIN
        if identity is None:
            await self._send(
                send, respond(401, ApiError(401, "Unauthorized", "Unauthorized").to_status())
            )
            return
        if delay := self._faults.latency_seconds(request):
            await asyncio.sleep(delay)
        answer = presented(self._handled(request, identity), request)
        if isinstance(answer, WatchResponse):
            await self._watch(answer, request, receive, send)
        elif isinstance(answer, StreamedResponse):
            await self._send_chunks(send, answer)
        else:
            await self._send(send, answer)

    def _handled(self, request: Request, identity: Identity) -> Answer:
        """Answer a request; one that changed the cluster is in the journal before its answer or any
        watch line leaves, since nothing is sent in between.
        """
        if self._pace is not None and request.path == clock_control.PATH:
            return clock_control.control_clock(
                request, self._engine, self._pace, may_write=identity is ADMIN
            )
        if refusal := self._faults.refusal(request):
            return refusal
        before = self._engine.store.resource_version
        answer = self._router.handle(request, identity)
        if self._journal is None or request.method not in WRITING:
            return answer
        if request.path.startswith(REVIEW_PATHS):
            return answer
        accepted = isinstance(answer, Response) and answer.status < HTTPStatus.BAD_REQUEST
        if accepted or self._engine.store.resource_version != before:
            self._journal.note(self._engine.now, request)
        return answer

    def _headers(self, answer: Answer) -> list[tuple[bytes, bytes]]:
        headers = [
            (b"content-type", answer.content_type.encode()),
            *_clock_headers(self._engine.now),
        ]
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
            for chunk in answer.chunks:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
                await asyncio.sleep(0)  # others have their turn
            await send({"type": "http.response.body", "body": b""})
        finally:
            answer.close()

    async def _watch(
        self, answer: WatchResponse, request: Request, receive: Receive, send: Send
    ) -> None:
        gone = asyncio.ensure_future(_disconnected(receive))
        on_cut = partial(self._faults.on_cut, request)
        try:
            await stream(self._engine.store, answer, self._headers(answer), send, gone, on_cut)
        finally:
            gone.cancel()


@lru_cache(maxsize=8)
def _clock_headers(now: float) -> tuple[tuple[bytes, bytes], ...]:
    """Return what tells cluster time; many answers go out at one moment of the cluster."""
    moment = datetime.fromtimestamp(now, UTC)
    return (
        (b"date", format_datetime(moment, usegmt=True).encode()),
        (b"x-foresail-cluster-time", moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").encode()),
    )


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


async def _request(scope: dict[str, Any], receive: Receive) -> Request:
    parts, size = [], 0
    while True:
        message = await receive()
        if size <= LARGEST_BODY:  # the rest is read and dropped: the router refuses it
            parts.append(message.get("body", b""))
            size += len(parts[-1])
        if not message.get("more_body", False):
            break
    body = b"".join(parts)
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
    if scope["method"] in WRITING and not headers.get("content-type", "").startswith(APPLY):
        # Who writes is part of what is written, so it has to be in the journal, too.
        query["fieldManager"] = query.get("fieldManager") or _program(headers)
    return Request(scope["method"], unquote(scope["path"]), query, headers, body)


def _program(headers: dict[str, str]) -> str:
    """Return the name that a program gives itself, as the API server reads it."""
    return headers.get("user-agent", "").partition("/")[0].strip()[:128] or "unknown"
