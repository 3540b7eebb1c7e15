"""The HTTP server: raw ASGI on uvicorn, bearer tokens on every path, watches as endless answers.

The engine and the requests share one event loop, so an answer always sees one moment of the
cluster.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import format_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self
from urllib.parse import parse_qsl, unquote

from twin.api import clock_control
from twin.api.messages import Request, Response, StreamedResponse, WatchResponse, respond
from twin.api.router import WRITING, Router
from twin.changes import Change
from twin.engine import Engine
from twin.errors import ApiError
from twin.journal import Journal
from twin.pace import Pace

BOOKMARK_SECONDS = 30.0
"""Wall seconds between two bookmarks of a silent watch; a real server sends one about once a
minute.
"""
WATCH_BACKLOG = 10_000
"""Lines kept for a slow watcher; one that falls further behind is cut off and lists again."""
OPEN_PATHS = frozenset({"/healthz", "/readyz", "/livez"})

Answer = Response | StreamedResponse | WatchResponse
Send = Callable[[dict[str, Any]], Awaitable[None]]
Receive = Callable[[], Awaitable[dict[str, Any]]]


class Tokens:
    """Two bearer tokens: one may write, the other only reads."""

    def __init__(self, writer: str, reader: str) -> None:
        """Take the tokens."""
        self.writer = writer
        self.reader = reader

    @classmethod
    def drawn(cls) -> Self:
        """Draw new tokens; they are secrets, not part of any result."""
        return cls(secrets.token_urlsafe(24), secrets.token_urlsafe(24))

    @classmethod
    def kept(cls, path: Path) -> Self:
        """Return the tokens of an earlier start, or draw them and keep them for the owner alone."""
        if path.is_file():
            kept = json.loads(path.read_text(encoding="utf-8"))
            return cls(kept["writer"], kept["reader"])
        drawn = cls.drawn()
        part = path.with_name(f"{path.name}.part")
        part.unlink(missing_ok=True)
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump({"writer": drawn.writer, "reader": drawn.reader}, file)
        part.replace(path)
        return drawn

    def may_write(self, authorization: str) -> bool | None:
        """Say what a request's Authorization header allows; None: nothing."""
        token = authorization.removeprefix("Bearer ").strip()
        given = token.encode()  # compare_digest refuses text outside ASCII
        if secrets.compare_digest(given, self.writer.encode()):
            return True
        return False if secrets.compare_digest(given, self.reader.encode()) else None


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
        self._tokens = tokens

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Answer one HTTP request."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            return
        request = await _request(scope, receive)
        may_write = self._tokens.may_write(request.headers.get("authorization", ""))
        if may_write is None and request.path not in OPEN_PATHS:
            await self._send(
                send, respond(401, ApiError(401, "Unauthorized", "Unauthorized").to_status())
            )
            return
        answer = self._handled(request, may_write=bool(may_write))
        if isinstance(answer, WatchResponse):
            await self._watch(answer, receive, send)
        elif isinstance(answer, StreamedResponse):
            await self._send_chunks(send, answer)
        else:
            await self._send(send, answer)

    def _handled(self, request: Request, *, may_write: bool) -> Answer:
        """Answer a request; one that changed the cluster is in the journal before its answer or any
        watch line leaves, since nothing is sent in between.
        """
        if self._pace is not None and request.path == clock_control.PATH:
            return clock_control.control_clock(
                request, self._engine, self._pace, may_write=may_write
            )
        before = self._engine.store.resource_version
        answer = self._router.handle(request, may_write=may_write)
        if self._journal is None or request.method not in WRITING or not may_write:
            return answer
        accepted = isinstance(answer, Response) and answer.status < HTTPStatus.BAD_REQUEST
        if accepted or self._engine.store.resource_version != before:
            self._journal.note(self._engine.now, request)
        return answer

    def _headers(self, answer: Answer) -> list[tuple[bytes, bytes]]:
        moment = datetime.fromtimestamp(self._engine.now, UTC)
        headers = {
            "content-type": answer.content_type,
            "date": format_datetime(moment, usegmt=True),
            "x-foresail-cluster-time": moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        }
        if isinstance(answer, Response):
            headers |= {name.lower(): value for name, value in answer.headers.items()}
            headers["content-length"] = str(len(answer.body))
        return [(name.encode(), value.encode()) for name, value in headers.items()]

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

    async def _watch(self, answer: WatchResponse, receive: Receive, send: Send) -> None:
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()

        def take(change: Change) -> None:
            line = answer.translate(change)
            if line is not None:
                if queue.qsize() >= WATCH_BACKLOG:
                    stop()
                    line = None
                queue.put_nowait(line)

        stop = self._engine.store.subscribe(take)
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await send(
                {"type": "http.response.start", "status": 200, "headers": self._headers(answer)}
            )
            await send({"type": "http.response.body", "body": b"", "more_body": True})
            with suppress(TimeoutError):
                async with asyncio.timeout(answer.timeout_seconds):
                    for lines in answer.initial:
                        await send({"type": "http.response.body", "body": lines, "more_body": True})
                        await asyncio.sleep(0)  # others have their turn
                    await self._stream(queue, answer, gone, send)
        finally:
            stop()
            gone.cancel()
        if not gone.done():
            await send({"type": "http.response.body", "body": b""})

    async def _stream(
        self,
        queue: asyncio.Queue[bytes | None],
        answer: WatchResponse,
        gone: asyncio.Future[None],
        send: Send,
    ) -> None:
        while not gone.done():
            try:
                line = await asyncio.wait_for(_first(queue, gone), BOOKMARK_SECONDS)
            except TimeoutError:
                line = b"" if answer.bookmark is None else answer.bookmark()
            if line is None:
                return
            lines = [line]
            while not queue.empty() and len(lines) < 500:
                more = queue.get_nowait()
                if more is None:  # what follows has a hole: send what is whole, then end
                    await send(
                        {"type": "http.response.body", "body": b"".join(lines), "more_body": True}
                    )
                    return
                lines.append(more)
            if any(lines):
                await send(
                    {"type": "http.response.body", "body": b"".join(lines), "more_body": True}
                )


async def _first(queue: asyncio.Queue[bytes | None], gone: asyncio.Future[None]) -> bytes | None:
    getter = asyncio.ensure_future(queue.get())
    both: set[asyncio.Future[Any]] = {getter, gone}
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        return getter.result() if getter.done() else None
    finally:
        getter.cancel()


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
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    headers = {name.decode().lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = dict(parse_qsl(scope["query_string"].decode(), keep_blank_values=True))
    return Request(scope["method"], unquote(scope["path"]), query, headers, body)
