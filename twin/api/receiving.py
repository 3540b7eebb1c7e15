"""Requests as they arrive: bodies within limits of size, number and time; YAML read beside others' requests."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, unquote

import yaml

from twin.api.limits import (
    LARGEST_BODY,
    MOST_DEFINED_VALUES,
    MOST_PARAMETERS,
    MOST_VALUES,
    read_yaml,
    too_large,
    uri_too_long,
)
from twin.api.messages import JSON, WRITING, Request, json_bytes
from twin.api.negotiation import YAML
from twin.api.patching import APPLY
from twin.errors import ApiError, bad_request

Receive = Callable[[], Awaitable[dict[str, Any]]]
_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
BODY_SECONDS = 60.0
"""Wall seconds that a body may take to arrive."""
MOST_HELD_BYTES = 64 << 20
"""Bytes of all bodies that are arriving; more are refused until some have been read."""
MOST_DRAINED_BYTES = 16 << 20
"""Bytes of a refused body that are read and dropped, so that its client gets to read the answer."""


class ClientGone(Exception):
    """The client disconnected before its request was complete, so none of it may be carried out."""


class Receiver:
    """Reads the requests of one server."""

    def __init__(self) -> None:
        """Begin without any body."""
        self._held_bytes = 0
        # One thread reads YAML, since that takes up to seconds.
        self._reader = ThreadPoolExecutor(1, "twin-yaml-reader")

    async def request(
        self, scope: dict[str, Any], headers: dict[str, str], receive: Receive
    ) -> Request:
        """Return a whole request. Raises ApiError 408, 413, 414 or 429, and ClientGone."""
        body = await self._body(receive)
        return await self._with_json_body(_request(scope, headers, body))

    async def _body(self, receive: Receive) -> bytes:
        """Return a body. Raises ApiError 408, 413 or 429, and ClientGone."""
        parts: list[bytes] = []
        size = held_bytes = 0
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ClientGone
                    part = message.get("body", b"")
                    size += len(part)
                    if size <= LARGEST_BODY:
                        parts.append(part)
                        held_bytes += len(part)
                        self._held_bytes += len(part)
                    if self._held_bytes > MOST_HELD_BYTES:
                        raise too_busy("bodies", "bytes", MOST_HELD_BYTES)
                    if not message.get("more_body", False) or size > MOST_DRAINED_BYTES:
                        break
        except TimeoutError:
            late = f"the body must arrive within {BODY_SECONDS:g} seconds"
            raise ApiError(408, "Timeout", late) from None
        finally:
            self._held_bytes -= held_bytes
        if size > LARGEST_BODY:
            raise too_large(f"limit is {LARGEST_BODY}")
        return b"".join(parts)

    async def _with_json_body(self, request: Request) -> Request:
        """Return a request with its YAML as JSON, read while others have their turn."""
        media = request.headers.get("content-type", "").partition(";")[0].strip()
        if not request.body or media not in (YAML, APPLY):
            return request
        read = asyncio.get_running_loop().run_in_executor(
            self._reader, _as_json, request.body, _most_values(request.path)
        )
        try:
            body = await read
        except ApiError as error:  # the router decides first whether the client may ask at all
            return replace(request, body=b"", fault=error)
        kind = JSON if media == YAML else media
        return replace(request, body=body, headers={**request.headers, "content-type": kind})


def too_busy(what: str, unit: str, most: int) -> ApiError:
    """429 of what there is only so much of at a time."""
    sentence = f"too many {what}: at most {most} {unit} at a time; try again later"
    return ApiError(429, "TooManyRequests", sentence, {"retryAfterSeconds": 1})


def _most_values(path: str) -> int:
    """Return how many values a body for this path may hold: definitions hold whole schemas."""
    return MOST_DEFINED_VALUES if path.startswith(_DEFINITIONS) else MOST_VALUES


def _as_json(body: bytes, values: int) -> bytes:
    """Return a YAML body as JSON; raises ApiError 400 or 413."""
    try:
        return json_bytes(read_yaml(body, values=values))
    except (ValueError, RecursionError, yaml.YAMLError) as error:
        raise bad_request(f"the body cannot be read: {error}") from error


def _request(scope: dict[str, Any], headers: dict[str, str], body: bytes) -> Request:
    """Return a whole request; raises ApiError 414."""
    text = scope["query_string"].decode("latin-1")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_PARAMETERS)
    except ValueError as error:
        raise uri_too_long() from error
    query = dict(pairs)
    if scope["method"] in WRITING and not headers.get("content-type", "").startswith(APPLY):
        # Who writes is part of what is written, so it has to be in the journal, too.
        query["fieldManager"] = query.get("fieldManager") or _program_name(headers)
    parameters = tuple(pairs)
    return Request(
        scope["method"], unquote(scope["path"]), query, headers, body, parameters=parameters
    )


def _program_name(headers: dict[str, str]) -> str:
    """Return the name that a program gives itself, as the API server reads it."""
    return headers.get("user-agent", "").partition("/")[0].strip()[:128] or "unknown"
