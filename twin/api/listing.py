"""Lists: what is selected, of which version, in which form, page by page.

Guarantee: all pages of one list, and all chunks of one long answer, show the cluster at one version
(`twin.snapshot`), whatever comes or goes in between. A continue token holds that version and the
key of the last item; when the changes since are no longer known it gets 410, with a token that goes
on without that guarantee, as on a real server. Items of built-in kinds carry neither kind nor
apiVersion.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from twin.api.limits import read_json
from twin.api.messages import JSON, Object, Request, Response, StreamedResponse, respond
from twin.api.selecting import Selector, parse_selector
from twin.api.tables import Form
from twin.api.versions import list_options, too_new
from twin.changes import Change
from twin.encoding import json_of
from twin.errors import ApiError, bad_request
from twin.kinds import Kind
from twin.records import Record
from twin.render import render
from twin.render.pieces import object_bytes, partial_bytes
from twin.snapshot import Key, ResourceSnapshot
from twin.store import Store

BATCH = 200
"""Items that are put into bytes at a time; between two batches of a long answer others have their
turn.
"""
PAGE = 500
"""Items that are serialized at once: kubectl's page size."""
_TOO_OLD = "The resourceVersion for the provided list is too old."
_OUTRUN = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)
LONGEST_TOKEN = 4_096
"""Characters of a continue token: a version, a namespace and a name have fewer."""
_NEWEST = -1
"""Version in a token that continues with the current objects."""


@dataclass(frozen=True, slots=True)
class ListRequest:
    """The parameters of a list request."""

    kind: Kind
    selector: Selector
    snapshot: ResourceSnapshot
    after: Key | None
    limit: int  # 0: all
    kept: int
    """Objects of the kind that there are."""

    def records(self) -> Iterator[Record]:
        """Yield what is selected behind the token, without regard to the limit."""
        after = self.after
        while batch := self.snapshot.batch(after, BATCH):
            after = batch[-1].key
            yield from batch if self.selector.everything else filter(self.selector.matches, batch)

    def follow(self, change: Change) -> None:
        """Take note of a change that is made while the list is sent."""
        if change.resource == self.kind.resource:
            self.snapshot.follow(change)

    @property
    def short(self) -> bool:
        """Whether it is answered at once: it reads at most one batch."""
        return self.kept <= PAGE or (0 < self.limit <= PAGE and self.selector.everything)


def read_list_request(
    store: Store, kind: Kind, namespace: str | None, request: Request
) -> ListRequest:
    """Read a list request; raises ApiError 400, 410, 422 or 504."""
    options = list_options(request.query)
    selector = parse_selector(request.query, kind)
    newest = store.resource_version
    version, after = newest, None
    if options.token:
        version, after = _read_token(options.token, newest)
    elif options.version is not None:
        if options.version > newest:
            raise too_new(options.version, newest)
        if options.exact:
            version = options.version
    try:
        snapshot = store.snapshot(kind.resource, namespace, version)
    except ApiError as error:
        if error.status != 410:
            raise
        if after is None:
            raise ApiError(410, "Expired", _TOO_OLD) from error
        rest = {"continue": _make_token(_NEWEST, after)}
        raise ApiError(410, "Expired", _OUTRUN, metadata=rest) from error
    count = store.count(kind.resource)
    return ListRequest(kind, selector, snapshot, after, options.limit, count)


def list_objects(store: Store, kind: Kind, namespace: str | None, request: Request) -> Object:
    """Return the list object of a request; raises what `read_list_request` raises."""
    list_request = read_list_request(store, kind, namespace, request)
    records, metadata = _page(list_request)
    items = [render(kind.resource, record) for record in records]
    return {
        "kind": kind.list_kind,
        "apiVersion": kind.api_version,
        "metadata": metadata,
        "items": [_list_item(kind, obj) for obj in items],
    }


def list_answer(
    store: Store, kind: Kind, namespace: str | None, request: Request
) -> Response | StreamedResponse:
    """Answer a list request in JSON; one of many items in chunks, all of the same version."""
    list_request = read_list_request(store, kind, namespace, request)
    form, name, version, content_type = _form(store, kind, request.headers.get("accept", ""))
    if list_request.short:
        records, metadata = _page(list_request)
        head = _head(name, version, metadata)
        body = b",".join([form(kind.resource, record) for record in records])
        return Response(200, b"%b%b]}" % (head, body), content_type)
    stop = store.subscribe(list_request.follow)
    chunks = _chunks(list_request, form, {"kind": name, "apiVersion": version})
    return StreamedResponse(chunks, stop, content_type)


def list_pieces(store: Store, kind: Kind, request: Request) -> tuple[bytes, list[bytes]] | None:
    """Return the answer to a list request over all namespaces as the list without items, and its items.

    None for a list that is long, selected or in another form; raises what `read_list_request` raises.
    """
    list_request = read_list_request(store, kind, None, request)
    if not (list_request.short and list_request.selector.everything):
        return None
    records, metadata = _page(list_request)
    head = _head(kind.list_kind, kind.api_version, metadata)
    return head + b"]}", store.items.bytes_of(kind.resource, records)


def table_answer(
    store: Store, kind: Kind, namespace: str | None, request: Request, form: Form
) -> Response | StreamedResponse:
    """Answer a list request with a Table; raises what `read_list_request` raises."""
    list_request = read_list_request(store, kind, namespace, request)
    if list_request.short:
        listed = list_objects(store, kind, namespace, request)
        return respond(200, form.render_list(kind.resource, listed, store.now()))
    stop = store.subscribe(list_request.follow)
    now, names = store.now(), {"kind": kind.kind, "apiVersion": kind.api_version}

    def row(resource: str, record: Record) -> bytes:
        return json_of(form.row(resource, _list_item(kind, render(resource, record)), names, now))

    chunks = _chunks(list_request, row, form.heading(kind.resource), b"rows")
    return StreamedResponse(chunks, stop, JSON)


def _list_item(kind: Kind, obj: Object) -> Object:
    """Return an object as an item of a list of its kind: a custom one says what it is."""
    if kind.custom is None:
        return as_list_item(obj)
    return kind.custom.show(obj, kind.api_version)


def as_list_item(obj: Object) -> Object:
    """Return an object as a list item."""
    return {name: value for name, value in obj.items() if name not in {"kind", "apiVersion"}}


def plain_list(kind: str, api_version: str, items: Iterable[Object], version: int) -> Object:
    """Return a list of objects that no store holds (metrics)."""
    return {
        "kind": kind,
        "apiVersion": api_version,
        "metadata": {"resourceVersion": str(version)},
        "items": [as_list_item(item) for item in items],
    }


def _page(list_request: ListRequest) -> tuple[list[Record], Object]:
    """Return the records of one page and the list's metadata."""
    metadata: Object = {"resourceVersion": str(list_request.snapshot.version)}
    records: list[Record] = []
    limit = list_request.limit
    if limit and list_request.selector.everything:
        records = list_request.snapshot.batch(list_request.after, limit + 1)
        if len(records) > limit:
            records.pop()
            metadata |= _remaining(list_request, records[-1].key)
        return records, metadata
    for record in list_request.records():
        if limit and len(records) == limit:
            metadata |= _remaining(list_request, records[-1].key)
            break
        records.append(record)
    return records, metadata


def _remaining(list_request: ListRequest, last: Key) -> Object:
    """Return what the metadata of a page says about what follows its last item."""
    rest: Object = {"continue": _make_token(list_request.snapshot.version, last)}
    if list_request.selector.everything:  # a real server does not count what it has not looked at
        rest["remainingItemCount"] = list_request.snapshot.count(last)
    return rest


def _chunks(
    list_request: ListRequest,
    form: Callable[[str, Record], bytes],
    head: Object,
    member: bytes = b"items",
) -> Iterator[bytes]:
    """Yield a long list; after each batch, whatever is selected of it, others have their turn.

    A page's metadata comes behind its items, since only then it is known what follows.
    """
    resource, matches, after = (
        list_request.kind.resource,
        list_request.selector.matches,
        list_request.after,
    )
    metadata: Object = {"resourceVersion": str(list_request.snapshot.version)}
    opening = head if list_request.limit else {**head, "metadata": metadata}
    lead = b'%b,"%b":[' % (json_of(opening)[:-1], member)
    left = list_request.limit or -1
    last: Key | None = None
    over = False
    while not over and (batch := list_request.snapshot.batch(after, BATCH)):
        after = batch[-1].key
        chosen = (
            batch
            if list_request.selector.everything
            else [record for record in batch if matches(record)]
        )
        if 0 <= left < len(chosen):
            chosen, over = chosen[:left], True
        left -= len(chosen) if list_request.limit else 0
        last = chosen[-1].key if chosen else last
        pieces = b",".join([form(resource, record) for record in chosen])
        yield lead + pieces if pieces else b""
        lead = b"," if pieces else lead
    start = b"" if lead == b"," else lead
    if over and last is not None:
        metadata |= _remaining(list_request, last)
    yield start + (b'],"metadata":%b}' % json_of(metadata) if list_request.limit else b"]}")


def _head(kind: str, api_version: str, metadata: Object) -> bytes:
    obj = {"kind": kind, "apiVersion": api_version, "metadata": metadata}
    return json_of(obj)[:-1] + b',"items":['


def _form(
    store: Store, kind: Kind, accept: str
) -> tuple[Callable[[str, Record], bytes], str, str, str]:
    """Return how items are written, and the kind, version and content type of their list."""
    if wants_partial(accept):
        name = "PartialObjectMetadata"
        return partial_bytes, f"{name}List", "meta.k8s.io/v1", JSON
    if kind.custom is not None:
        return of_kind(kind, object_bytes), kind.list_kind, kind.api_version, JSON
    return store.items.item_bytes, kind.list_kind, kind.api_version, JSON


def wants_partial(accept: str) -> bool:
    """Say whether a client asks for metadata alone, before anything else."""
    first = accept.partition(",")[0]
    return "as=PartialObjectMetadata" in first and "g=meta.k8s.io" in first


def object_answer(kind: Kind, record: Record, accept: str) -> Response:
    """Answer with one object, or with its metadata alone."""
    if wants_partial(accept):
        return Response(200, partial_bytes(kind.resource, record))
    return Response(200, of_kind(kind, object_bytes)(kind.resource, record))


def of_kind(kind: Kind, form: Callable[[str, Record], bytes]) -> Callable[[str, Record], bytes]:
    """Return a form that writes objects in the version of a kind."""
    custom = kind.custom
    if custom is None:
        return form

    def in_version(resource: str, record: Record) -> bytes:
        return json_of(custom.show(render(resource, record), kind.api_version))

    return in_version


def _make_token(version: int, key: Key) -> str:
    return base64.urlsafe_b64encode(json.dumps([version, *key]).encode()).decode()


def _read_token(text: str, newest: int) -> tuple[int, Key]:
    try:
        if len(text) > LONGEST_TOKEN:
            raise ValueError(f"it has more than {LONGEST_TOKEN} characters")
        raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        if raw[:1] not in (b"[", b""):
            first = raw[:1].decode("latin-1")
            raise ValueError(f"invalid character '{first}' looking for beginning of value")
        version, namespace, name = read_json(raw)
        if not (isinstance(version, int) and isinstance(namespace, str) and isinstance(name, str)):
            raise ValueError("not a version and a key")
    except (ApiError, ValueError, TypeError, binascii.Error) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from error
    if not _NEWEST <= version <= newest:
        raise ApiError(410, "Expired", _OUTRUN)
    return newest if version == _NEWEST else version, (namespace, name)
