"""Lists of the Kubernetes API, page by page, decoded into the structs of `kube_objects`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, cast, runtime_checkable

import msgspec

from services.cluster import PAGE_ITEMS, ClusterRefused, ItemTransport, Transport
from services.kube_decoding import KubeDecoder
from services.kube_objects import KubeStruct, ListMeta

T = TypeVar("T", bound=KubeStruct)


class ListPage(msgspec.Struct, Generic[T], frozen=True):
    """One page of a list."""

    items: tuple[T, ...] = ()
    metadata: ListMeta = ListMeta()


@dataclass(frozen=True, slots=True)
class ResourceList(Generic[T]):
    """A whole list."""

    items: tuple[T, ...]
    resource_version: str
    cluster_time_seconds: float
    """The server's clock at the last page."""


@runtime_checkable
class ListCache(Protocol):
    """A transport that has some lists already, because it follows them."""

    def known_list(self, path: str) -> ResourceList[Any] | None:
        """Return a whole list of objects as the readers of this path decode them; None: ask the server."""
        ...


class ListDecoder(Generic[T]):
    """Decodes lists of one kind; make it once.

    Where a transport gives items one by one, an item with the same bytes as in one of the two newest lists
    (two worlds may be read in turn) is the same object, and with it is everything that was computed of it
    (`services.kept_results`). Items of older lists are forgotten once they are as many.
    """

    def __init__(self, kind: type[T]) -> None:
        """Decode items of `kind`."""
        self._pages = KubeDecoder[ListPage[T]](ListPage[kind])  # type: ignore[valid-type]
        self._items = KubeDecoder[T](kind)
        self._newest: tuple[Sequence[bytes], Sequence[T]] = ((), ())
        self._known: dict[bytes, T] = {}

    def page(self, body: bytes) -> ListPage[T]:
        """Return a page; raises ValueError or RecursionError when it is none."""
        return self._pages.decode(body)

    def items(self, items: Sequence[bytes]) -> list[T]:
        """Return items that are JSON each; raises ValueError or RecursionError for another."""
        known = self._known
        objects = list(map(known.get, items))
        if not all(objects):  # an object is true
            for place, item in enumerate(items):
                if objects[place] is None:
                    objects[place] = known[item] = self._items.decode(item)
        return cast("list[T]", objects)

    def remember(self, items: Sequence[bytes], objects: Sequence[T]) -> None:
        """A list of these items has ended; keep what it and the one before it hold."""
        before, self._newest = self._newest, (items, objects)
        if len(self._known) > 2 * (len(items) + len(before[0])):
            self._known = dict(zip(*before, strict=True))
            self._known.update(zip(items, objects, strict=True))


def list_decoder(kind: type[T]) -> ListDecoder[T]:
    """Return the decoder of lists of one kind; make it once."""
    return ListDecoder(kind)


async def read_list(
    transport: Transport,
    path: str,
    decoder: ListDecoder[T],
    query: Mapping[str, str] | None = None,
) -> ResourceList[T]:
    """Read all pages of a list, or take it from a transport that knows it.

    Raises:
        ClusterUnavailable: no answer.
        ClusterRefused: an error, or an answer that is no list (410: the list changed too much
            between two pages).
    """
    known = transport.known_list(path) if isinstance(transport, ListCache) and not query else None
    if known is not None:
        return known
    items: list[T] = []
    pieces: list[bytes] = []
    parameters = {"limit": str(PAGE_ITEMS), **(query or {})}
    while True:
        page, at = await _read_page(transport, path, decoder, parameters, pieces)
        items.extend(page.items)
        if not page.metadata.continue_token:
            if pieces and len(pieces) == len(items):
                decoder.remember(pieces, items)
            return ResourceList(tuple(items), page.metadata.resource_version, at)
        parameters["continue"] = page.metadata.continue_token


async def _read_page(
    transport: Transport,
    path: str,
    decoder: ListDecoder[T],
    query: Mapping[str, str],
    pieces: list[bytes],
) -> tuple[ListPage[T], float]:
    """Return a page and the server's clock, and add its items to `pieces` where they come one by one.

    Raises what `read_list` raises.
    """
    listed = (
        await transport.list_items(path, query) if isinstance(transport, ItemTransport) else None
    )
    if listed is None:
        answer = await transport.request("GET", path, query)
        with _unreadable(path, answer.status):
            return decoder.page(answer.body), answer.cluster_time_seconds
    with _unreadable(path, 200):
        head, objects = decoder.page(listed.head), decoder.items(listed.items)
    pieces.extend(listed.items)
    return ListPage(tuple(objects), head.metadata), listed.cluster_time_seconds


@contextmanager
def _unreadable(path: str, status: int) -> Iterator[None]:
    """Turn what a decoder raises into an answer that is no list."""
    try:
        yield
    except (ValueError, RecursionError) as error:  # a DecodeError is a ValueError
        raise ClusterRefused(status, "Unreadable", f"{path}: {error}") from error
