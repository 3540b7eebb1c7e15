"""The embedded cluster in the same process, as a service reaches it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from services.cluster import JSON, ApiResponse, Json, ListedItems, Method, raise_if_refused


class InProcessCluster(Protocol):
    """The embedded cluster in the same process (`twin.inprocess.InProcessTwin`)."""

    @property
    def now(self) -> float:
        """Cluster time, seconds since the Unix epoch."""
        ...

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        content_type: str = JSON,
    ) -> tuple[int, bytes]:
        """Answer one request."""
        ...


@runtime_checkable
class ItemCluster(Protocol):
    """One that knows its lists by their items."""

    def list_items(
        self, path: str, query: Mapping[str, str]
    ) -> tuple[int, bytes, Sequence[bytes]] | None:
        """Answer a list item by item: status, the list without its items (or the refusal), and the items.

        None: not a list that can be answered so.
        """
        ...


class TwinTransport:
    """Reaches the embedded cluster in the same process, without HTTP."""

    def __init__(self, twin: InProcessCluster) -> None:
        """Talk to `twin`."""
        self._twin = twin

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send one request; see `Transport.request`."""
        raw = b"" if body is None else json.dumps(body).encode()
        status, content = self._twin.request(method, path, dict(query or {}), raw, content_type)
        raise_if_refused(status, content)
        return ApiResponse(status, content, self._twin.now)

    async def list_items(self, path: str, query: Mapping[str, str]) -> ListedItems | None:
        """Send a GET of a list; see `ItemTransport.list_items`."""
        twin = self._twin
        answer = twin.list_items(path, query) if isinstance(twin, ItemCluster) else None
        if answer is None:
            return None
        status, head, items = answer
        raise_if_refused(status, head)
        return ListedItems(head, items, self._twin.now)

    async def close(self) -> None:
        """Nothing is held."""
