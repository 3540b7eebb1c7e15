"""Objects in another version than the one they are kept in: converted on the way in and out.

Everything else (selection, paging, admission, owners of fields) is that of the kept version, so a
view adds no behaviour of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from twin import conversion, event_forms
from twin.admission.events import check_shown
from twin.admission.findings import Findings
from twin.api.bodies import require_map
from twin.api.listing import list_objects
from twin.api.messages import Object, Request, Response, WatchResponse, json_bytes, respond
from twin.api.objects import Answer, Objects
from twin.api.tables import Form
from twin.api.versions import check_reached
from twin.api.watching import watch
from twin.engine import Engine
from twin.errors import bad_request, method_not_allowed
from twin.kinds import ELSEWHERE, KINDS, Kind
from twin.store import Store

Convert = Callable[[Object], Object]
CONVERSIONS: dict[tuple[str, str, str], tuple[Convert, Convert]] = {
    ("autoscaling", "v1", "horizontalpodautoscalers"): (conversion.to_v1, conversion.to_v2),
    ("events.k8s.io", "v1", "events"): (event_forms.to_events, event_forms.to_core),
}
"""By group, version and plural: from the kept version to this one, and back."""


@dataclass(frozen=True, slots=True)
class View:
    """One kind in one other version."""

    kept: Kind
    shown: Kind
    convert: Convert
    back: Convert

    @classmethod
    def of(cls, kind: Kind, version: str) -> View | None:
        """Return the view of a kind in a version; None when there is none."""
        if version not in kind.other_versions:
            return None
        both = CONVERSIONS.get((kind.group, version, kind.resource))
        if both is None:
            return None
        return cls(kind, replace(kind, version=version, other_versions=()), *both)

    @classmethod
    def elsewhere(cls, group: str, version: str, resource: str) -> View | None:
        """Return the view of a kind that another group shows as well; None when there is none."""
        for shown in ELSEWHERE:
            if (shown.group, shown.version, shown.resource) == (group, version, resource):
                return cls(KINDS[resource], shown, *CONVERSIONS[group, version, resource])
        return None

    def answer(
        self, engine: Engine, place: tuple[str | None, str, str], request: Request
    ) -> Answer:
        """Answer a request; `place` is namespace, name and subresource. Raises ApiError."""
        namespace, name, subresource = place
        store = engine.store
        if self.shown.group == event_forms.GROUP:
            request = _with_kept_fields(request)
        if request.method == "GET":
            if request.flag("watch") and not name:
                return self._convert_watch(watch(store, self.kept, namespace, request))
            return self._read(store, (namespace, name), request)
        objects = Objects(engine, self)
        if self.shown.group == event_forms.GROUP and request.method != "DELETE":
            kept = partial(self._checked_event, store, namespace or "", name)
            objects = Objects(engine, replace(self, back=kept))
        if subresource:
            return self._write_part(objects, (namespace or "", name, subresource), request)
        if name:
            return objects.object(self.kept, namespace or "", name, request)
        answer = objects.collection(self.kept, namespace, request)
        return self._convert(answer) if request.method == "DELETE" else answer

    def _checked_event(self, store: Store, namespace: str, name: str, written: Object) -> Object:
        """Return an event in its kept form; raises ApiError 422 for what events.k8s.io/v1 refuses."""
        event = {
            **written,
            "metadata": {"namespace": namespace, **require_map(written, "metadata")},
        }
        known = store.find(self.kept.resource, namespace, name) if name else None
        old = (
            None if known is None else self.convert(store.get(self.kept.resource, namespace, name))
        )
        findings = Findings()
        check_shown(event, old, findings)
        findings.raise_if_any(self.kept, str(event["metadata"].get("name", "")))
        return self.back(written)

    def _write_part(
        self, objects: Objects, place: tuple[str, str, str], request: Request
    ) -> Answer:
        namespace, name, subresource = place
        match request.method:
            case "PUT":
                return objects.put(self.kept, namespace, name, request, subresource)
            case "PATCH":
                return objects.patch(self.kept, namespace, name, request, subresource)
        raise method_not_allowed()

    def _read(self, store: Store, place: tuple[str | None, str], request: Request) -> Response:
        namespace, name = place
        asked = "PartialObjectMetadata" if name else "PartialObjectMetadataList"
        form = Form.for_request(request, self.shown, asked)
        convert = (
            self.convert if form.kind != "table" else _as_it_is
        )  # columns are of the kept form
        if name:
            check_reached(request.query.get("resourceVersion", ""), store.resource_version)
            obj = convert(store.get(self.kept.resource, namespace or "", name))
            return respond(200, form.one(self.kept.resource, obj, store.now()))
        listed = list_objects(store, self.kept, namespace, request)
        if form.kind == "table":
            return respond(200, form.render_list(self.kept.resource, listed, store.now()))
        items = [self.convert(item) for item in listed["items"]]
        for item in items:
            item.pop("apiVersion", None)
        listed = {**listed, "apiVersion": self.shown.api_version, "items": items}
        return respond(200, form.render_list(self.kept.resource, listed, store.now()))

    def _convert(self, answer: Answer) -> Answer:
        if not isinstance(answer, Response) or answer.status >= 400:
            return answer
        content = json.loads(answer.body)
        if content.get("kind") == self.kept.kind:
            content = self.convert(content)
        elif content.get("kind") == self.kept.list_kind:
            items = [self.convert(item) for item in content["items"]]
            for item in items:
                item.pop("apiVersion", None)
            content = {**content, "apiVersion": self.shown.api_version, "items": items}
        return replace(answer, body=json_bytes(content))

    def _convert_watch(self, answer: WatchResponse) -> WatchResponse:
        def lines(content: bytes) -> bytes:
            return b"".join(self._line(line) for line in content.splitlines())

        def initial() -> Iterator[bytes]:
            for some in answer.initial:
                yield lines(some)

        def translate(change: Any) -> bytes | None:
            line = answer.translate(change)
            return None if line is None else lines(line)

        beat = answer.bookmark
        bookmark = None if beat is None else lambda: lines(beat())
        return replace(answer, initial=initial(), translate=translate, bookmark=bookmark)

    def _line(self, line: bytes) -> bytes:
        event = json.loads(line)
        if event["type"] == "BOOKMARK":
            event["object"]["apiVersion"] = self.shown.api_version
        elif event["type"] != "ERROR":
            event["object"] = self.convert(event["object"])
        return json_bytes(event) + b"\n"


def _as_it_is(obj: Object) -> Object:
    return obj


def _with_kept_fields(request: Request) -> Request:
    """Return a request for events whose field selector has the names of the kept form; raises ApiError 400."""
    text = request.query.get("fieldSelector", "")
    if not text:
        return request
    terms = []
    for term in text.split(","):
        name = term.partition("=")[0].removesuffix("!")
        kept = event_forms.kept_field(name)
        if kept is None:
            raise bad_request(f"field label not supported: {name}")
        terms.append(kept + term[len(name) :])
    return replace(request, query={**request.query, "fieldSelector": ",".join(terms)})
