"""Where the API keeps the objects that operations write."""

from __future__ import annotations

from urllib.parse import quote

from schemas.outcome import Operation
from services.cluster import ClusterRefused
from services.executor.reach import WRITTEN


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
