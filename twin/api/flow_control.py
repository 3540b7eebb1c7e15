"""The headers by which a real server says under which FlowSchema and priority level it served a request.

Only the headers: nothing is queued. The uids are those of the objects, or made of their names where the cluster has
none (`twin.bootstrap`). Who falls under what:
kubernetes/kubernetes staging/src/k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap/default.go.
"""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable, Collection
from functools import lru_cache
from typing import Any
from uuid import UUID

from twin.store import Store

Send = Callable[[dict[str, Any]], Awaitable[None]]
_PROBES = ("/healthz", "/livez", "/readyz")
_ACCOUNTS, _SYSTEM_ACCOUNTS = "system:serviceaccounts", "system:serviceaccounts:kube-system"


def flow_of(groups: Collection[str], path: str) -> tuple[str, str]:
    """Return the names of the FlowSchema and the priority level of a user's request."""
    if "system:masters" in groups:
        return "exempt", "exempt"
    if path in _PROBES:
        return "probes", "exempt"
    if _SYSTEM_ACCOUNTS in groups:
        return "kube-system-service-accounts", "workload-high"
    if _ACCOUNTS in groups:
        return "service-accounts", "workload-low"
    if "system:unauthenticated" in groups:
        return "catch-all", "catch-all"
    return "global-default", "global-default"


def labelled(send: Send, groups: Collection[str], path: str, store: Store) -> Send:
    """Return what sends an answer with the headers of its flow."""
    schema, level = flow_of(groups, path)
    headers = _headers(
        _uid_of(store, "flowschemas", schema), _uid_of(store, "prioritylevelconfigurations", level)
    )

    async def send_labelled(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message["headers"], *headers]}
        await send(message)

    return send_labelled


@lru_cache(maxsize=16)
def _headers(schema_uid: str, level_uid: str) -> tuple[tuple[bytes, bytes], ...]:
    return (
        (b"x-kubernetes-pf-flowschema-uid", schema_uid.encode()),
        (b"x-kubernetes-pf-prioritylevel-uid", level_uid.encode()),
    )


def _uid_of(store: Store, resource: str, name: str) -> str:
    known = store.find(resource, "", name)
    return _made_uid(f"{resource}/{name}") if known is None else known.uid


@lru_cache(maxsize=32)
def _made_uid(text: str) -> str:
    """Return the same uid for the same text in every world."""
    return str(UUID(bytes=hashlib.blake2b(text.encode(), digest_size=16).digest(), version=4))
