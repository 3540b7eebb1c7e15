"""Lists: selection, paging that stays in order under change, and the form clients expect.

A continue token carries the version of the first page and the key of the last item, so a page
begins right after the one before, whatever came or went in between. List items carry neither kind
nor apiVersion, as on a real server.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable

from twin.api.messages import Object, Request
from twin.api.selecting import field_requirements, fields_match, label_requirements, labels_match
from twin.errors import ApiError, bad_request
from twin.kinds import Kind
from twin.store import Store

Selected = Callable[[Object], bool]


def selector(request: Request, resource: str) -> Selected:
    """Return the predicate of a request's selectors; raises ApiError 400."""
    labels = label_requirements(request.query.get("labelSelector", ""))
    fields = field_requirements(request.query.get("fieldSelector", ""), resource)

    def selected(obj: Object) -> bool:
        return labels_match(labels, obj["metadata"].get("labels") or {}) and fields_match(
            fields, obj
        )

    return selected


def list_objects(store: Store, kind: Kind, namespace: str | None, request: Request) -> Object:
    """Return the list object of a request; raises ApiError 400 or 410 for a bad continue token."""
    selected = selector(request, kind.resource)
    version, after = _token(request.query.get("continue", ""), store.resource_version)
    found = [obj for obj in store.list(kind.resource, namespace) if selected(obj)]
    if after is not None:
        found = [obj for obj in found if _key(obj) > after]
    limit = _whole(request.query.get("limit", "0"), "limit")
    metadata: Object = {"resourceVersion": str(version)}
    if limit and len(found) > limit:
        metadata["continue"] = _make_token(version, _key(found[limit - 1]))
        metadata["remainingItemCount"] = len(found) - limit
        found = found[:limit]
    return {
        "kind": f"{kind.kind}List",
        "apiVersion": kind.api_version,
        "metadata": metadata,
        "items": [stripped(obj) for obj in found],
    }


def stripped(obj: Object) -> Object:
    """Return an object as a list item."""
    return {name: value for name, value in obj.items() if name not in {"kind", "apiVersion"}}


def plain_list(kind: str, api_version: str, items: Iterable[Object], version: int) -> Object:
    """Return a list of objects that no store holds (metrics)."""
    return {
        "kind": kind,
        "apiVersion": api_version,
        "metadata": {"resourceVersion": str(version)},
        "items": [stripped(item) for item in items],
    }


def _key(obj: Object) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata.get("namespace", ""), metadata["name"]


def _make_token(version: int, key: tuple[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps([version, *key]).encode()).decode()


def _token(text: str, newest: int) -> tuple[int, tuple[str, str] | None]:
    if not text:
        return newest, None
    try:
        version, namespace, name = json.loads(base64.urlsafe_b64decode(text))
        if not (isinstance(version, int) and isinstance(namespace, str) and isinstance(name, str)):
            raise ValueError("not a version and a key")
    except (ValueError, TypeError) as error:
        raise bad_request(f"continue key is not valid: {error}") from error
    if version > newest:
        raise ApiError(
            410,
            "Expired",
            "The provided continue parameter is too old or of another cluster; list from the start.",
        )
    return version, (namespace, name)


def _whole(text: str, name: str) -> int:
    if not text.isdecimal():
        raise bad_request(f'invalid value for {name}: "{text}"')
    return int(text)
