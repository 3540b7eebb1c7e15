"""How a service reaches the cluster: one `Transport`, two adapters, and one door for errors.

The adapter for API servers is `services.official_client`, that for the embedded cluster in the same
process `services.twin_transport`. `cluster.py` of collector and exerciser and the executor's folders
hold reads and writes in terms of `Transport`, so the same code talks to a real API
server, to the embedded cluster over HTTP, and to the embedded cluster in process. Whatever goes
wrong on the way leaves here as `ClusterUnavailable` (no answer; try again) or `ClusterRefused` (an
answer that says no, with the API server's own words). Every answer carries the cluster's own time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from bus.errors import Permanent, Temporary

Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Json = Mapping[str, Any] | Sequence[Any]

JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"

PAGE_ITEMS = 500
"""Items per page of a list; of 500 to 5,000 it needed the least memory at about the same speed."""
CLUSTER_TIME = "X-Foresail-Cluster-Time"
"""By this header the embedded cluster tells its time to the microsecond; others have `Date`."""
_NOT_SERVING = frozenset({502, 503, 504})
_SECONDS = re.compile("[0-9]{1,6}")


class ClusterUnavailable(Temporary):
    """The API server gave no answer, or a gateway said that it is not serving."""


class ClusterRefused(Permanent):
    """The API server said no: `status` (HTTP), `reason` (its word), `message` (its sentence).

    `causes` are the words of its details, and `retry_after_seconds` is when it wants to be asked again.
    """

    def __init__(
        self,
        status: int,
        reason: str,
        message: str,
        *,
        causes: tuple[str, ...] = (),
        retry_after_seconds: float | None = None,
    ) -> None:
        """Keep what the API server said."""
        super().__init__(f"{status} {reason}: {message}")
        self.status = status
        self.reason = reason
        self.message = message
        self.causes = causes
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class ApiResponse:
    """Undecoded answer of the API server."""

    status: int
    body: bytes
    cluster_time_seconds: float
    """The server's clock when it answered, seconds since the Unix epoch."""


@dataclass(frozen=True, slots=True)
class ListedItems:
    """One page of a list, in pieces: what has not changed since the last time is the same bytes."""

    head: bytes
    """The page without its items, as JSON."""
    items: Sequence[bytes]
    """Each item as JSON."""
    cluster_time_seconds: float
    """As of `ApiResponse`."""


class Transport(Protocol):
    """One request to the Kubernetes API."""

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request and return its answer.

        Raises:
            ClusterUnavailable: no answer.
            ClusterRefused: an answer with status 400 or more.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


@runtime_checkable
class ItemTransport(Protocol):
    """A transport that knows lists by their items, so that who reads often decodes only what has changed."""

    async def list_items(self, path: str, query: Mapping[str, str]) -> ListedItems | None:
        """Send a GET of a list; None: `Transport.request` has to be asked.

        Raises:
            ClusterUnavailable: no answer.
            ClusterRefused: an answer with status 400 or more.
        """
        ...


def raise_if_refused(status: int, content: bytes, retry_after: str = "") -> None:
    """Raise what an answer says that is an error; `retry_after` is the header of that name.

    Raises:
        ClusterUnavailable: a gateway says that the server is not serving (502 to 504).
        ClusterRefused: any other status of 400 or more.
    """
    if status < 400:
        return
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError):
        answer = {}
    if not isinstance(answer, dict):
        answer = {}
    reason = str(answer.get("reason") or "Unknown")
    message = str(answer.get("message") or content[:200].decode(errors="replace"))
    if status in _NOT_SERVING:
        raise ClusterUnavailable(f"{status} {reason}: {message}")
    details = answer.get("details")
    raise ClusterRefused(
        status,
        reason,
        message,
        causes=_causes(details.get("causes") if isinstance(details, dict) else None),
        retry_after_seconds=float(retry_after) if _SECONDS.fullmatch(retry_after) else None,
    )


def _causes(listed: object) -> tuple[str, ...]:
    found = listed if isinstance(listed, list) else []
    return tuple(str(one["reason"]) for one in found if isinstance(one, dict) and "reason" in one)
