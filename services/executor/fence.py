"""The last door before the API server: a transport that knows by itself what may be written, whatever a plan says.

Guards judge plans. This judges requests: their method, path, namespace and node, read from the path and from the
cluster as it is now, without the plan or the guards. What they let through by a mistake of ours stops here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from schemas.outcome import Mode
from services.cluster import (
    JSON,
    ApiResponse,
    ClusterRefused,
    ItemTransport,
    Json,
    ListedItems,
    Method,
    Transport,
)
from services.executor.marked_objects import MarkedNode
from services.executor.reading import read_scope
from services.executor.scope import OUT_OF_SCOPE, Scope
from services.executor.settings import ExecutorSettings
from services.kube_lists import KnowsLists, ResourceList

QUESTIONS = re.compile(r"/apis/authorization\.k8s\.io/v1/self\w+reviews")
"""Requests that ask by POST."""
_WRITES: Mapping[str, frozenset[str]] = {
    "/api/v1/nodes": frozenset({"PATCH"}),
    "/api/v1/pods/eviction": frozenset({"POST"}),
    "/api/v1/pods/resize": frozenset({"PATCH"}),
    "/api/v1/resourcequotas": frozenset({"POST", "DELETE"}),
    "/apis/apps/v1/deployments": frozenset({"PATCH"}),
    "/apis/apps/v1/deployments/scale": frozenset({"PATCH"}),
    "/apis/batch/v1/jobs": frozenset({"PATCH"}),
    "/apis/autoscaling/v2/horizontalpodautoscalers": frozenset({"PATCH"}),
    "/apis/karpenter.sh/v1/nodeclaims": frozenset({"DELETE"}),
    "/apis/events.k8s.io/v1/events": frozenset({"POST", "PATCH"}),
}
"""Every write that any action makes: resource with its subresource, and the methods."""
_PATH = re.compile(
    r"(?P<group>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<resource>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[a-z]+))?)?"
)
_EVENTS, _EVENTS_OF_NODES = "events", "default"


class FencedTransport:
    """Lets reads pass, and of writes those alone that the settings allow in the mode in force."""

    def __init__(self, transport: Transport, settings: ExecutorSettings) -> None:
        """Guard `transport`; every write is a dry run until `mode` says otherwise."""
        self._transport = transport
        self._settings = settings
        self.mode = Mode.SHADOW
        """The mode in force, as the log says."""

    async def request(
        self,
        method: Method,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Json | None = None,
        content_type: str = JSON,
    ) -> ApiResponse:
        """Send a request; see `Transport.request`. A write that may not be is `ClusterRefused` with our own cause."""
        if method != "GET" and QUESTIONS.fullmatch(path) is None:
            await self._check(method, path, _is_dry(query, body))
        return await self._transport.request(method, path, query, body, content_type)

    async def _check(self, method: Method, path: str, dry: bool) -> None:
        found = _PATH.fullmatch(path)
        if found is None:
            raise _refusal(method, path, "no object is written there")
        group, namespace, resource, name, sub = found.group(
            "group", "namespace", "resource", "name", "sub"
        )
        kind = f"{group}/{resource}" + (f"/{sub}" if sub else "")
        if method not in _WRITES.get(kind, frozenset()):
            raise _refusal(method, path, "no action does this")
        if self.mode is not Mode.ACTIVE and not dry:
            raise _refusal(method, path, "in shadow mode every write is a dry run")
        scope = await read_scope(
            self._transport, self._settings, Mode.SHADOW if dry else Mode.ACTIVE
        )
        if namespace is not None:
            self._check_namespace(scope, method, path, namespace, resource)
        elif resource == "nodes":
            await self._check_node(scope, method, path, name or "")
        elif not scope.everything and not scope.nodes:
            raise _refusal(method, path, "no node may be written")

    def _check_namespace(
        self, scope: Scope, method: Method, path: str, namespace: str, resource: str
    ) -> None:
        if resource == _EVENTS and namespace == _EVENTS_OF_NODES and scope.nodes:
            return
        if namespace in self._settings.protected_namespaces:
            raise _refusal(method, path, f"namespace {namespace} is protected")
        if not scope.has_namespace(namespace):
            raise _refusal(method, path, f"namespace {namespace} may not be written")

    async def _check_node(self, scope: Scope, method: Method, path: str, name: str) -> None:
        node = msgspec.json.decode(
            (await self._transport.request("GET", path)).body, type=MarkedNode
        )
        if node.control_plane:
            raise _refusal(method, path, f"{name} runs the control plane ({node.control_plane})")
        if not scope.has_node(node.metadata.labels):
            raise _refusal(method, path, f"node {name} may not be written")

    def known_list(self, path: str) -> ResourceList[Any] | None:
        """Return what the guarded transport knows; see `KnowsLists.known_list`."""
        inner = self._transport
        return inner.known_list(path) if isinstance(inner, KnowsLists) else None

    async def list_items(self, path: str, query: Mapping[str, str]) -> ListedItems | None:
        """Send a GET of a list; see `ItemTransport.list_items`."""
        inner = self._transport
        return await inner.list_items(path, query) if isinstance(inner, ItemTransport) else None

    async def close(self) -> None:
        """Let go of connections."""
        await self._transport.close()


def _is_dry(query: Mapping[str, str] | None, body: Json | None) -> bool:
    """Say whether the server would change nothing; of a DELETE the body says so."""
    options = body.get("dryRun") if isinstance(body, Mapping) else None
    return (query or {}).get("dryRun") == "All" or options == ["All"]


def _refusal(method: Method, path: str, why: str) -> ClusterRefused:
    return ClusterRefused(403, OUT_OF_SCOPE, f"{method} {path}: {why}", causes=(OUT_OF_SCOPE,))
