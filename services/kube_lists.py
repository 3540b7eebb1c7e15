"""Lists of the Kubernetes API, page by page, decoded into the structs of `kube_objects`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from services.cluster import PAGE_ITEMS, ClusterRefused, Transport
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


def list_decoder(kind: type[T]) -> msgspec.json.Decoder[ListPage[T]]:
    """Return the decoder of lists of one kind; make it once."""
    return msgspec.json.Decoder(ListPage[kind])  # type: ignore[valid-type]


async def read_list(
    transport: Transport,
    path: str,
    decoder: msgspec.json.Decoder[ListPage[T]],
    query: Mapping[str, str] | None = None,
) -> ResourceList[T]:
    """Read all pages of a list.

    Raises:
        ClusterUnavailable: no answer.
        ClusterRefused: an error, or an answer that is no list (410: the list changed too much
            between two pages).
    """
    items: list[T] = []
    parameters = {"limit": str(PAGE_ITEMS), **(query or {})}
    while True:
        answer = await transport.request("GET", path, parameters)
        try:
            page = decoder.decode(answer.body)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ClusterRefused(answer.status, "Unreadable", f"{path}: {error}") from error
        items.extend(page.items)
        if not page.metadata.continue_token:
            version = page.metadata.resource_version
            return ResourceList(tuple(items), version, answer.cluster_time_seconds)
        parameters["continue"] = page.metadata.continue_token
