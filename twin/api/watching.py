"""Watches: resume from a version, selector transitions, bookmarks, initial events, 410 when the
past is gone.

Guarantee: a watch from version V gives every change after V that its selector sees, once and in
order; what starts or stops being selected arrives as ADDED or DELETED. Initial objects are those of
one version, however long it takes to send them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from twin.api.listing import BATCH, of_kind
from twin.api.messages import JSON, Object, Request, WatchResponse
from twin.api.selecting import Selector, parse_selector
from twin.api.tables import Form as Asked
from twin.api.versions import WatchOptions, too_new, watch_options
from twin.changes import Change
from twin.encoding import json_of
from twin.errors import ApiError
from twin.kinds import Kind
from twin.records import Record
from twin.render import render
from twin.render.pieces import object_bytes, partial_bytes
from twin.snapshot import Key
from twin.store import Store

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
Form = Callable[[str, Record], bytes]


@dataclass(frozen=True, slots=True)
class View:
    """What one watch sees: objects of a kind, in a namespace or in all, that a selector selects."""

    kind: Kind
    namespace: str | None
    selector: Selector
    form: Form

    def line(self, change: Change) -> bytes | None:
        """Return what a change is for this watch; None when it does not see it."""
        if change.resource != self.kind.resource:
            return None
        if self.namespace is not None and change.namespace != self.namespace:
            return None
        before = change.before is not None and self.selector.matches(change.before)
        if change.type == "DELETED":
            return self._event("DELETED", change.record) if before else None
        if self.selector.matches(change.record):
            return self._event("MODIFIED" if before else "ADDED", change.record)
        return self._farewell(change) if before else None

    def added_line(self, record: Record) -> bytes:
        """Return the line of an initial object."""
        form = object_bytes if self.form is _LAST_BYTES else self.form  # a live one may change
        return _line("ADDED", form(self.kind.resource, record))

    def bookmark(self, version: int, annotations: Object | None = None) -> bytes:
        """Return a line that says how far the watch is."""
        metadata: Object = {"resourceVersion": str(version)}
        if annotations:
            metadata["annotations"] = annotations
        kind, api_version = self.kind.kind, self.kind.api_version
        obj = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
        return _line("BOOKMARK", json_of(obj))

    def _farewell(self, change: Change) -> bytes:
        """Return the DELETED object of what is no longer selected: as it was, at the change's version."""
        assert change.before is not None
        last = change.before.clone()
        last.resource_version = change.rv
        return self._event("DELETED", last)

    def _event(self, kind: str, record: Record) -> bytes:
        if isinstance(self.form, LastBytes):
            return self.form.line(kind, self.kind.resource, record)
        return _line(kind, self.form(self.kind.resource, record))


class LastBytes:
    """Remembers the newest change's bytes, since a change goes to all watches before the next."""

    def __init__(self) -> None:
        """Begin with an empty cache."""
        self._record: Record | None = None
        self._bytes = b""
        self._lines: dict[str, bytes] = {}

    def __call__(self, resource: str, record: Record) -> bytes:
        """Return the object of a change's record, which is final."""
        if record is not self._record:
            self._record, self._bytes = record, object_bytes(resource, record)
            self._lines.clear()
        return self._bytes

    def line(self, kind: str, resource: str, record: Record) -> bytes:
        """Return the line of an event, one object for all watches that are told of it."""
        obj = self(resource, record)
        if kind not in self._lines:
            self._lines[kind] = _line(kind, obj)
        return self._lines[kind]


_LAST_BYTES = LastBytes()  # a cache of pure results


def watch(
    store: Store,
    kind: Kind,
    namespace: str | None,
    request: Request,
    form_request: Asked | None = None,
) -> WatchResponse:
    """Return the watch of a request. `form_request` is the form that the client wants its objects in.

    A version whose changes were dropped gives one ERROR event with code 410; initial objects of a
    future version give one with code 504.
    """
    options = watch_options(request.query)
    scope = namespace if kind.namespaced else None
    form: Form = _LAST_BYTES if kind.custom is None else of_kind(kind, object_bytes)
    if form_request is not None and form_request.kind == "table":
        form = _table_lines(form_request, store.now)
    elif form_request is not None and form_request.kind == "partial":
        form = partial_bytes
    view = View(kind, scope, parse_selector(request.query, kind), form)

    def bookmark() -> bytes:
        return view.bookmark(store.resource_version)

    try:
        initial, translate = _start(store, view, options)
    except ApiError as error:
        if error.status not in (410, 504):
            raise
        line = _line("ERROR", json_of(error.to_status()))
        return WatchResponse(iter((line,)), lambda _change: None, None, None, over=lambda: True)
    beat = bookmark if options.bookmarks else None
    over = None if kind.custom is None else lambda: not store.custom.serves(kind)
    return WatchResponse(initial, translate, beat, options.timeout_seconds, JSON, over)


def _table_lines(form_request: Asked, now: Callable[[], float]) -> Form:
    """Return what writes each object as a Table of one row; the first names the columns."""
    first = True

    def line(resource: str, record: Record) -> bytes:
        nonlocal first
        head, first = first, False
        return json_of(form_request.one(resource, render(resource, record), now(), head=head))

    return line


def _start(
    store: Store, view: View, options: WatchOptions
) -> tuple[Iterator[bytes], Callable[[Change], bytes | None]]:
    """Return the first lines, and what turns later changes into lines."""
    since = options.version
    everything = options.initial if options.initial is not None else not since
    if everything:
        return _initial(store, view, options)
    if since is None or (since == 0 and options.initial is False):
        since = store.resource_version
    missed = [
        line
        for change in store.changes(view.kind.resource, view.namespace, since)
        if (line := view.line(change)) is not None
    ]
    start = since  # a version of the future: what comes up to it is not meant
    batches = (b"".join(missed[at : at + BATCH]) for at in range(0, len(missed), BATCH))
    return batches, lambda change: view.line(change) if change.rv > start else None


def _initial(
    store: Store, view: View, options: WatchOptions
) -> tuple[Iterator[bytes], Callable[[Change], bytes | None]]:
    """Return the objects of now, kept as they are while they are sent."""
    resource = view.kind.resource
    version = store.resource_version
    if (options.version or 0) > version:  # a real server waits some seconds, then says so
        raise too_new(options.version or 0, version)
    snapshot = store.snapshot(resource, view.namespace, version)
    sending = True

    def lines() -> Iterator[bytes]:
        nonlocal sending
        after: Key | None = None
        while batch := snapshot.batch(after, BATCH):
            after = batch[-1].key
            added = [view.added_line(each) for each in batch if view.selector.matches(each)]
            if added:
                yield b"".join(added)
        if options.initial and options.bookmarks:
            yield view.bookmark(version, {INITIAL_EVENTS_END: "true"})
        sending = False

    def translate(change: Change) -> bytes | None:
        if sending and change.resource == resource:
            snapshot.follow(change)
        return view.line(change)

    return lines(), translate


def _line(kind: str, obj: bytes) -> bytes:
    return b'{"type":"%b","object":%b}\n' % (kind.encode(), obj)
