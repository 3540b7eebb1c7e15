"""The HTTP face: GET and HEAD only, known names and users only, nothing from elsewhere.

The page holds no credentials and cannot change anything: whatever is not a read is answered 405
before it is routed.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import (
    FileResponse,
    JSONResponse,
    PlainTextResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bus.errors import BusUnavailable
from bus.item_errors import ItemErrors
from bus.port import StoredMessage
from schemas.registry import to_json
from services.dashboard.access import LogIn, Users
from services.dashboard.address_numbers import NUMBER_DIGITS, number_of
from services.dashboard.compare import Compare, CompareRoute
from services.dashboard.hub import Hub
from services.dashboard.past import event_json
from services.dashboard.past_routes import PastRoutes
from services.dashboard.what_if import WhatIf, WhatIfRoute

STATIC = Path(__file__).with_name("static")
ARCHITECTURE = Path(__file__).with_name("architecture.json")
"""Which process reads and publishes what, as `foresail architecture` says it; written by `docs.make_identities`."""
SAFE_HEADERS = {
    "content-security-policy": "default-src 'self'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; object-src 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
BODY_HEADERS = frozenset({b"content-length", b"transfer-encoding"})
PAGES = (
    "overview",
    "decisions",
    "incidents",
    "nodes",
    "workloads",
    "models",
    "runs",
    "what-if",
    "compare",
    "settings",
    "log",
    "help",
)
"""Addresses of the page, which is one; it shows what its address says."""
PATH_SHOWN = 100
"""Characters of a path that a line of the log shows."""
NOT_KEPT = {"cache-control": "no-store"}
KEPT = {"/static/icon.svg": "max-age=86400"}
"""What a browser need not ask for again: it does so for a tab's icon at each moment that is shown."""


class ReadOnly:
    """Refuses everything but GET and HEAD, puts the safe headers on every answer, and answers 500 where one fails."""

    def __init__(self, app: ASGIApp, errors: ItemErrors) -> None:
        self._app = app
        self._errors = errors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        # Files here are small; merging thousands of ranges is work for nothing.
        scope["headers"] = [header for header in scope["headers"] if header[0] != b"range"]
        has_body = any(name in BODY_HEADERS and value != b"0" for name, value in scope["headers"])

        started = False

        async def send_safely(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                headers = MutableHeaders(scope=message)
                if has_body:
                    headers["connection"] = "close"  # nobody reads it
                for name, value in SAFE_HEADERS.items():
                    headers[name] = value
                headers.setdefault("cache-control", KEPT.get(scope["path"], "no-cache"))
            await send(message)

        app: ASGIApp = self._app
        if scope["method"] not in {"GET", "HEAD"}:
            app = PlainTextResponse("this page only reads\n", 405, {"allow": "GET, HEAD"})
        with (
            self._errors.item("page", scope["path"][:PATH_SHOWN]) as item,
            suppress(ClientDisconnect),
        ):
            await app(scope, receive, send_safely)
        if item.failed and not started:
            failed = JSONResponse({"error": "this page cannot be shown"}, 500)
            await failed(scope, receive, send_safely)


class DashboardRoutes:
    """Answers by address."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    async def index(self, _: Request) -> Response:
        """Return the page."""
        return FileResponse(STATIC / "index.html")

    async def state(self, _: Request) -> Response:
        """Return the page's whole state as JSON."""
        return JSONResponse(self._hub.now(), headers=NOT_KEPT)

    async def stream(self, request: Request) -> Response:
        """Return the page's updates as Server-Sent Events."""
        if self._hub.pages >= self._hub.settings.max_pages:
            return PlainTextResponse("too many open pages\n", 503, {"retry-after": "10"})
        last = request.headers.get("last-event-id", "")
        known = last.isascii() and last.isdecimal() and len(last) <= NUMBER_DIGITS
        updates = self._hub.updates(int(last) if known else 0)
        first = await anext(
            updates, b""
        )  # from here on it counts as a page, before another one is let in
        return StreamingResponse(
            _with_first(first, updates),
            media_type="text/event-stream",
            headers={**NOT_KEPT, "x-accel-buffering": "no"},
        )

    async def event(self, request: Request) -> Response:
        """Return one stored event, whole."""
        seq = number_of(request.path_params["seq"])
        try:
            message = await self._hub.stored_message(seq)
        except BusUnavailable as error:
            return JSONResponse({"error": str(error)}, 503)
        if message is None:
            return JSONResponse({"error": f"the log holds no event {seq}"}, 404)
        # Up to a megabyte from anybody who may write the log: other clients are not kept waiting.
        links = await self._hub.past.links(message)
        content = await asyncio.to_thread(linked_event_json, message, links)
        return Response(content, media_type="application/json", headers=NOT_KEPT)

    async def architecture(self, _: Request) -> Response:
        """Return which process reads and publishes what, with a Mermaid flowchart."""
        return FileResponse(ARCHITECTURE, media_type="application/json")

    async def health(self, _: Request) -> Response:
        """Return how far the reader is."""
        return JSONResponse(self._hub.health(), headers=NOT_KEPT)


async def _with_first(
    first: bytes, updates: AsyncGenerator[bytes, None]
) -> AsyncGenerator[bytes, None]:
    async with aclosing(updates):
        yield first
        async for update in updates:
            yield update


def linked_event_json(message: StoredMessage, links: tuple[list[int], list[int]]) -> bytes:
    """Return a stored message as JSON, with the positions of what caused it and of what it led to."""
    return to_json({**event_json(message), "causes": links[0], "effects": links[1]})


def make_app(hub: Hub, what_if: WhatIf | None = None, compare: Compare | None = None) -> Starlette:
    """Return the ASGI application over a hub; `what_if` computes what other settings would have decided, `compare`
    what a recording has beside what is shown.

    Raises:
        ConfigError: the file of users is not good.
    """
    routes = DashboardRoutes(hub)
    settings = hub.settings

    def newest() -> int:
        return hub.page.overview.seq

    asks = (
        [] if settings.users_file is None else [Middleware(LogIn, users=Users(settings.users_file))]
    )
    return Starlette(
        routes=[
            Route("/", routes.index),
            *(Route(f"/{page}", routes.index) for page in PAGES),
            Route("/api/state", routes.state),
            Route("/api/stream", routes.stream),
            Route("/api/events/{seq}", routes.event),
            Route("/api/architecture", routes.architecture),
            *PastRoutes(hub).routes(),
            Route("/api/what-if", WhatIfRoute(what_if, newest).answer),
            Route("/api/compare", CompareRoute(compare, newest).answer),
            Route("/healthz", routes.health),
            Mount("/static", StaticFiles(directory=STATIC)),
        ],
        middleware=[
            Middleware(ReadOnly, errors=hub.errors),
            Middleware(
                TrustedHostMiddleware,
                allowed_hosts=[*settings.host_names, settings.host],
                www_redirect=False,
            ),
            *asks,
        ],
    )
