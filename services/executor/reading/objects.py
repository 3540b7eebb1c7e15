"""Objects read one by one, where the API keeps them, and the chain of owners above them."""

from __future__ import annotations

import json
from typing import Any, TypeVar
from urllib.parse import quote

import msgspec

from schemas.outcome import Operation
from services.cluster import ClusterRefused, Transport
from services.executor.reach import Marked
from services.executor.reading.marked_objects import MarkedMeta, MarkedObject, OwnerRef
from services.kube_decoding import decode_object
from services.kube_objects import KubeStruct
from services.rights.executor import RESOURCES, WRITTEN

LONGEST_CHAIN = 8
"""Owners above one object; Kubernetes' own chains have two."""


K = TypeVar("K", bound=KubeStruct)


class _Resource(KubeStruct, frozen=True):
    name: str = ""
    kind: str = ""
    namespaced: bool = True


class _Resources(KubeStruct, frozen=True):
    resources: tuple[_Resource, ...] = ()


class ObjectReader:
    """Reads each object once; make a new one for each look at the cluster."""

    def __init__(self, transport: Transport) -> None:
        """Read through `transport`."""
        self._transport = transport
        self._read: dict[str, bytes | None] = {}

    async def get(self, path: str, kind: type[K]) -> K | None:
        """Return an object; None when it is gone.

        Raises:
            ClusterUnavailable, ClusterRefused: it could not be read.
        """
        if path not in self._read:
            self._read[path] = await self._get(path)
        body = self._read[path]
        if body is None:
            return None
        try:
            return decode_object(kind, body)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ClusterRefused(200, "Unreadable", f"{path}: {error}") from error

    async def _get(self, path: str) -> bytes | None:
        try:
            return (await self._transport.request("GET", path)).body
        except ClusterRefused as error:
            if error.status == 404:
                return None
            raise

    async def protecting_mark(self, what: str, metadata: MarkedMeta) -> tuple[Marked, ...]:
        """Return what protects an object: its own mark, its namespace's and those of its owners.

        An owner that cannot be read protects what it owns: nobody can know what it asks for.

        Raises:
            ClusterUnavailable, ClusterRefused: the namespace could not be read.
        """
        marks = [Marked(what=what, mark=metadata.mark)]
        if metadata.namespace:
            path = f"/api/v1/namespaces/{metadata.namespace}"
            space = await self.get(path, MarkedObject)
            if space is not None:
                marks.append(
                    Marked(what=f"namespace {metadata.namespace}", mark=space.metadata.mark)
                )
        marks.extend(await self._marks_of_owners(metadata, LONGEST_CHAIN))
        return tuple(mark for mark in marks if mark.mark)

    async def _marks_of_owners(self, metadata: MarkedMeta, left: int) -> list[Marked]:
        marks: list[Marked] = []
        for owner in metadata.owner_references:
            if left == 0:
                return [Marked(what=owner.what, mark=f"more than {LONGEST_CHAIN} owners")]
            try:
                above = await self._read_owner(metadata.namespace, owner)
            except ClusterRefused as error:
                marks.append(Marked(what=owner.what, mark=f"not readable ({error.message[:100]})"))
                continue
            if above is not None:
                marks.append(Marked(what=owner.what, mark=above.metadata.mark))
                marks.extend(await self._marks_of_owners(above.metadata, left - 1))
        return marks

    async def _read_owner(self, namespace: str, owner: OwnerRef) -> MarkedObject | None:
        group = "/api/v1" if owner.api_version == "v1" else f"/apis/{owner.api_version}"
        resource = RESOURCES.get((owner.api_version, owner.kind))
        namespaced = bool(namespace)
        if resource is None:
            listed = await self.get(group, _Resources)
            served = () if listed is None else listed.resources
            served_resource = next(
                (
                    resource_kind
                    for resource_kind in served
                    if (resource_kind.kind == owner.kind and "/" not in resource_kind.name)
                ),
                None,
            )
            if served_resource is None:
                raise ClusterRefused(
                    404, "NotFound", f"{owner.api_version} {owner.kind} is not served"
                )
            resource, namespaced = (
                served_resource.name,
                served_resource.namespaced and bool(namespace),
            )
        scope = f"/namespaces/{namespace}" if namespaced else ""
        return await self.get(f"{group}{scope}/{resource}/{owner.name}", MarkedObject)


def object_path(operation: Operation) -> str:
    """Return the API path of an operation's object; a name cannot lead out of its place.

    Raises:
        ClusterRefused: its kind is never written.
    """
    prefix = WRITTEN.get(operation.resource)
    if prefix is None:
        raise ClusterRefused(404, "NotFound", f"{operation.resource} are never written")
    namespace, name = quote(operation.namespace, safe=""), quote(operation.name, safe="")
    scope = f"/namespaces/{namespace}" if namespace else ""
    return f"{prefix}{scope}/{operation.resource}/{name}"


async def read_object(transport: Transport, operation: Operation) -> dict[str, Any] | None:
    """Return the object of an operation as the API shows it; None when it is gone.

    Raises:
        ClusterUnavailable, ClusterRefused: it could not be read.
    """
    try:
        answer = await transport.request("GET", object_path(operation))
    except ClusterRefused as error:
        if error.status == 404:
            return None
        raise
    current: dict[str, Any] = json.loads(answer.body)
    return current
