"""Requests and responses of the API face, free of any server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from twin.changes import Change
from twin.encoding import json_of
from twin.errors import ApiError, invalid
from twin.webhooks.answers import WebhookAnswers

JSON = "application/json"
WRITING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
"""Methods that may change the cluster."""
Object = dict[str, Any]
_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


@dataclass(frozen=True, slots=True)
class Request:
    """One request; header names are lower case, and values of one that is there several times (those of
    impersonation alone) are lines.
    """

    method: str
    path: str
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    fault: ApiError | None = field(default=None, compare=False)
    """Why its body cannot be read, after an attempt; raised where the body is needed."""
    parameters: tuple[tuple[str, str], ...] = ()
    """Every parameter in order, where one may be there several times; `query` has the last of each."""
    webhook_answers: WebhookAnswers | None = field(default=None, compare=False)
    """What webhooks answered about this write; None: nobody is called."""
    requester: Any = field(default=None, compare=False)
    """Who writes, where what it may hand out is looked at (`twin.api.rbac_access.RbacUser`); None: anything."""

    def flag(self, name: str) -> bool:
        """Say whether a query parameter is set: to anything but false or 0, as the API reads it."""
        return self.query.get(name, "0").lower() not in {"false", "0"}

    @property
    def dry_run(self) -> bool:
        """Whether nothing is to be stored; raises ApiError 422 for any other word than All."""
        words = [self.query["dryRun"]] if "dryRun" in self.query else []
        return is_dry_run(words, options_of(self.method))


@dataclass(frozen=True, slots=True)
class Response:
    """One answer."""

    status: int
    body: bytes
    content_type: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """A long answer, made while it is sent; all of it shows one version of the cluster."""

    chunks: Iterator[bytes]
    close: Callable[[], None]
    """To be called when no more chunks are taken."""
    content_type: str = JSON


@dataclass(frozen=True, slots=True)
class WatchResponse:
    """An answer without end: what happened since a version, then whatever follows."""

    initial: Iterator[bytes]
    """Lines to send first, made while they are sent; what follows may be translated meanwhile."""
    translate: Callable[[Change], bytes | None]
    """Turns a change of the store into a line, or None when this watch does not see it."""
    bookmark: Callable[[], bytes] | None
    """Makes a bookmark line of the store's current version; None when none were asked for."""
    timeout_seconds: float | None
    content_type: str = JSON
    over: Callable[[], bool] | None = None
    """Says whether nothing more will come."""
    feed: Callable[[Callable[[bytes], None]], Callable[[], None]] | None = None
    """Gives the function that it is called with what does not come from changes of the store, until the
    function that it returns is called."""


def options_of(method: str) -> str:
    """Return the kind of the options that the query of a write holds."""
    return _OPTIONS.get(method, "DeleteOptions")


def is_dry_run(words: Any, options: str = "DeleteOptions") -> bool:
    """Read `dryRun`; raises ApiError 422, since a misread word would let a write through."""
    if words in (None, []):
        return False
    if words != ["All"]:
        stated = json_of(words).decode()
        why = ("dryRun", f'Unsupported value: {stated}: supported values: "All"')
        raise invalid(options, "meta.k8s.io", "", [why])
    return True


def respond(status: int, content: Any) -> Response:
    """Return a JSON answer."""
    return Response(status, json_bytes(content))


def json_bytes(content: Any) -> bytes:
    """Write JSON as the API server does: compact, UTF-8."""
    return json_of(content)
