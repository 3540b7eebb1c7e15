"""OpenAPI documents over HTTP: which media type, and what a client need not fetch again.

A document's address carries the hash of its content, so that what clients keep under one is never out of date.
Source: kubernetes/kube-openapi pkg/handler and pkg/handler3 (statuses and headers as of 1.36).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from email.utils import format_datetime
from functools import lru_cache
from hashlib import sha512

from twin.api import discovery, openapi
from twin.api.messages import JSON, Request, Response, respond
from twin.api.negotiation import accepted
from twin.kinds import Kind

_ANY = frozenset({JSON, "*/*", "application/*"})
_OF_V3 = "application/com.github.proto-openapi.spec.v3"
_KEPT_SECONDS = 365 * 24 * 3600
"""How long a client may keep what is named by its hash."""


def index_v3(custom: Sequence[Kind] = ()) -> Response:
    """Answer GET /openapi/v3: where the document of each group and version is."""
    pairs = [("", "v1"), *discovery.group_versions(custom)]
    paths = {
        name: {"serverRelativeURL": _address(name, openapi.document_v3(*pair, custom))}
        for name, pair in ((_name(*pair), pair) for pair in pairs)
    }
    return respond(200, {"paths": paths})


def page_v3(
    group: str, version: str, custom: Sequence[Kind], request: Request, now: float
) -> Response:
    """Answer with the document of a group and version: 200, 301 to its address of today, 304 or 406.

    Protobuf of OpenAPI is not written; who asks for it gets JSON. `now` is cluster time, unix seconds.
    """
    wanted = accepted(request.headers.get("accept", ""))
    if wanted and not any(each in _ANY or each.startswith(_OF_V3) for each, _ in wanted):
        return Response(406, b"", "", {"Vary": "Accept"})
    content = openapi.document_v3(group, version, custom)
    headers = {"Vary": "Accept", "Etag": _tag(content)}
    given = request.query.get("hash")
    if given and given != _hash(content):
        where = _address(_name(group, version), content)
        return Response(301, b"", JSON, {**headers, "Location": where})
    if given:
        end = datetime.fromtimestamp(now + _KEPT_SECONDS, UTC)
        headers["Cache-Control"] = "public, immutable"
        headers["Expires"] = format_datetime(end, usegmt=True)
    return fresh(Response(200, content, JSON, headers), request)


def fresh(response: Response, request: Request) -> Response:
    """Return an answer with an Etag, or 304 without a body where the client has that content."""
    known = [tag.strip().removeprefix("W/") for tag in _given(request.headers, "if-none-match")]
    if response.headers["Etag"] in known or "*" in known:
        return Response(304, b"", "", response.headers)
    return response


def tagged(response: Response, request: Request) -> Response:
    """Return a page that clients keep and ask for again by its Etag.

    A real server says `public` alone. In time lapse our Date is ahead of the client's clock, and Go's
    cache would use the page until that clock has come there, so Helm missed kinds that it had just defined.
    """
    tag = f'"{sha512(response.body).hexdigest().upper()}"'
    headers = {"Vary": "Accept", "Etag": tag, "Cache-Control": "public, no-cache"}
    kept = Response(response.status, response.body, response.content_type, headers)
    return fresh(kept, request)


def _given(headers: Mapping[str, str], name: str) -> list[str]:
    return headers.get(name, "").split(",") if name in headers else []


def _name(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _address(name: str, content: bytes) -> str:
    return f"/openapi/v3/{name}?hash={_hash(content)}"


def _tag(content: bytes) -> str:
    return f'"{_hash(content)}"'


@lru_cache(maxsize=128)
def _hash(content: bytes) -> str:
    return sha512(content).hexdigest().upper()
