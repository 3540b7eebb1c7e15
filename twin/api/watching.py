"""Watches: resume from a version, selector transitions, bookmarks, initial events, 410 when the
past is gone.
"""

from __future__ import annotations

from typing import Any

from twin.api.listing import Selected, selector
from twin.api.messages import Object, Request, WatchResponse, json_bytes
from twin.changes import Change
from twin.errors import ApiError, bad_request
from twin.kinds import Kind
from twin.store import Store

INITIAL_EVENTS_END = "k8s.io/initial-events-end"


def watch(store: Store, kind: Kind, namespace: str | None, request: Request) -> WatchResponse:
    """Return the watch of a request; a version whose changes are gone gives one ERROR event with
    code 410.
    """
    selected = selector(request, kind.resource)
    translate = _translator(kind, namespace, selected)
    bookmarks = request.flag("allowWatchBookmarks")
    timeout = request.query.get("timeoutSeconds", "")

    def bookmark() -> bytes:
        return _bookmark(kind, store.resource_version)

    try:
        initial = tuple(_initial(store, kind, namespace, request, selected, translate))
    except ApiError as error:
        if error.status != 410:
            raise
        line = _line("ERROR", error.to_status())
        return WatchResponse((line,), lambda _change: None, None, 0.0)
    return WatchResponse(initial, translate, bookmark if bookmarks else None, _seconds(timeout))


def _initial(
    store: Store,
    kind: Kind,
    namespace: str | None,
    request: Request,
    selected: Selected,
    translate: Any,
) -> list[bytes]:
    since = request.query.get("resourceVersion", "")
    send_all = request.flag("sendInitialEvents") or since in {"", "0"}
    if not send_all:
        if not since.isdigit():
            raise bad_request(f'Invalid value: "{since}": resourceVersion must be a number')
        followed = (
            translate(change) for change in store.changes(kind.resource, namespace, int(since))
        )
        return [line for line in followed if line is not None]
    lines = [_line("ADDED", obj) for obj in store.list(kind.resource, namespace) if selected(obj)]
    if request.flag("sendInitialEvents") and request.flag("allowWatchBookmarks"):
        lines.append(_bookmark(kind, store.resource_version, {INITIAL_EVENTS_END: "true"}))
    return lines


def _translator(kind: Kind, namespace: str | None, selected: Selected) -> Any:
    def translate(change: Change) -> bytes | None:
        if change.resource != kind.resource or (
            namespace is not None and change.namespace != namespace
        ):
            return None
        now = selected(change.object)
        before = change.type != "ADDED" and selected(_previous(change))
        if change.type == "DELETED":
            return _line("DELETED", change.object) if before or now else None
        if now:
            return _line("MODIFIED" if before else "ADDED", change.object)
        return _line("DELETED", change.object) if before else None

    return translate


def _previous(change: Change) -> Object:
    """Return as much of the object before the change as selectors can see."""
    obj = dict(change.object)
    if change.previous_labels is not None:
        obj["metadata"] = {**obj["metadata"], "labels": dict(change.previous_labels)}
    if change.previous_fields is not None:
        node, phase = change.previous_fields
        obj["spec"] = {**obj.get("spec", {}), "nodeName": node}
        obj["status"] = {**obj.get("status", {}), "phase": phase}
    return obj


def _bookmark(kind: Kind, version: int, annotations: Object | None = None) -> bytes:
    metadata: Object = {"resourceVersion": str(version)}
    if annotations:
        metadata["annotations"] = annotations
    return _line(
        "BOOKMARK", {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
    )


def _line(kind: str, obj: Object) -> bytes:
    return json_bytes({"type": kind, "object": obj}) + b"\n"


def _seconds(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError as error:
        raise bad_request(f'invalid value for timeoutSeconds: "{text}"') from error
