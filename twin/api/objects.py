"""Reading and writing stored objects: what each verb does on a collection and on one object."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from twin.advice import advice_of
from twin.api import ownership
from twin.api.admitting import Admission, write_of
from twin.api.applying import check_new, read_application, without_nulls
from twin.api.bodies import (
    ClientObject,
    check_object,
    check_place,
    most_values,
    read_object,
    require_map,
    warning_all_the_same,
)
from twin.api.deleting import Deletions, left_behind, success
from twin.api.escalation import check_escalation
from twin.api.limits import check_stored
from twin.api.listing import list_answer, object_answer, table_answer
from twin.api.messages import (
    Object,
    Request,
    Response,
    StreamedResponse,
    WatchResponse,
    respond,
)
from twin.api.ownership import Writer
from twin.api.patching import (
    APPLY,
    STRATEGIC,
    apply_patch,
    kind_of_patch,
    not_strategic,
    read_patch,
)
from twin.api.schema import ANY
from twin.api.schema.custom import root_field
from twin.api.tables import Form
from twin.api.versions import check_reached
from twin.api.watching import watch
from twin.api.write_rules import (
    MADE_BY_PUT,
    SHOWN_WHEN_GONE,
    Version,
    as_written,
    check_named,
    check_patched,
    check_same_uid,
    drop_namespace,
    is_place,
    most_stored_values,
    naming_requester,
    require_creation,
    require_version,
    status_is_plain,
    wants_version,
    without_version,
)
from twin.engine import Engine
from twin.errors import invalid, method_not_allowed
from twin.kinds import Kind
from twin.store import Own
from twin.timestamps import rfc3339

Answer = Response | StreamedResponse | WatchResponse
UNKNOWN_MANAGER = "unknown"
CREATED = 201


class Objects:
    """The stored objects of one engine."""

    def __init__(self, engine: Engine, version: Version | None = None) -> None:
        """Serve the engine's store; what is written in another `version` than the kept one as that says."""
        self._engine = engine
        self._version = version
        self._store = engine.store
        self.admission = Admission(engine.store)
        self._deletions = Deletions(engine.store, self.admission)

    # ---- reading

    def collection(self, kind: Kind, namespace: str | None, request: Request) -> Answer:
        """Answer a request on a collection; raises ApiError."""
        match request.method:
            case "GET":
                return self._list(kind, namespace, request)
            case "POST" if is_place(kind, namespace):
                return self.create(kind, namespace or "", request)
            case "DELETE" if is_place(kind, namespace) and kind.resource != "namespaces":
                return self._deletions.delete_all(kind, namespace, request)
        raise method_not_allowed()

    def object(self, kind: Kind, namespace: str, name: str, request: Request) -> Answer:
        """Answer a request on one object; raises ApiError."""
        match request.method:
            case "GET":
                return self._get(kind, namespace, name, request)
            case "PUT":
                return self.put(kind, namespace, name, request)
            case "PATCH":
                return self.patch(kind, namespace, name, request)
            case "DELETE":
                return self._delete_and_answer(kind, namespace, name, request)
        raise method_not_allowed()

    def _list(self, kind: Kind, namespace: str | None, request: Request) -> Answer:
        if request.flag("watch"):
            return watch(self._store, kind, namespace, request, Form.for_request(request, kind))
        form = Form.for_request(request, kind, "PartialObjectMetadataList")
        if form.kind != "table":
            return list_answer(self._store, kind, namespace, request)
        return table_answer(self._store, kind, namespace, request, form)

    def _get(self, kind: Kind, namespace: str, name: str, request: Request) -> Answer:
        check_reached(request.query.get("resourceVersion", ""), self._store.resource_version)
        record = self._store.record(kind.resource, namespace, name)
        form = Form.for_request(request, kind, "PartialObjectMetadata")
        if form.kind != "table":
            return object_answer(kind, record, request.headers.get("accept", ""))
        obj = self._shown(kind, self._store.get(kind.resource, namespace, name))
        return respond(200, form.one(kind.resource, obj, self._engine.now))

    # ---- writing

    def create(self, kind: Kind, namespace: str, request: Request) -> Response:
        """Create the object of a request; raises ApiError."""
        client_object = self._read(kind, request)
        with warning_all_the_same(client_object):
            new = self._made(kind, namespace, request, client_object)
        return self._written_response(kind, new, request, 201, client_object)

    def _made(self, kind: Kind, namespace: str, request: Request, read: ClientObject) -> Object:
        given = read.obj
        check_place(given, namespace)
        self._store.custom.require_creatable(kind)
        return self._create(
            kind, namespace, given, request, self._owning(kind, request, given=given)
        )

    def put(
        self, kind: Kind, namespace: str, name: str, request: Request, subresource: str = ""
    ) -> Response:
        """Replace an object, or its subresource; raises ApiError."""
        client_object = self._read(kind, request)
        with warning_all_the_same(client_object):
            return self._put(kind, (namespace, name, subresource), request, client_object)

    def _put(
        self, kind: Kind, place: tuple[str, str, str], request: Request, client_object: ClientObject
    ) -> Response:
        namespace, name, subresource = place
        check_place(client_object.obj, namespace, name)
        check_named(client_object.obj, name)
        absent = self._store.find(kind.resource, namespace, name) is None
        if absent and kind.resource in MADE_BY_PUT and not subresource:
            require_creation(kind, namespace, name, request)
            client_object.obj["metadata"].pop("resourceVersion", None)
            new = self._made(kind, namespace, request, client_object)
            return self._written_response(kind, new, request, 201, client_object)
        if wants_version(kind):
            self._store.record(kind.resource, namespace, name)  # says that it is not found
            require_version(kind, name, client_object.obj)
        new = self.replace(kind, namespace, name, client_object.obj, request, subresource)
        return self._written_response(kind, new, request, 200, client_object)

    def replace(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        obj: Object,
        request: Request,
        subresource: str = "",
        via_subresource: str = "",
        managed: list[Object] | None = None,
    ) -> Object:
        """Store an object on behalf of a request; `via_subresource` names the subresource to its managers,
        of which webhooks have been asked already; `managed` are its owners, if they are known.
        """
        own = self._owning(kind, request, via_subresource or subresource)
        if managed is not None:
            own = self._stating(kind, request, managed)
        asked = bool(via_subresource)
        return self._replace(kind, (namespace, name), obj, request, subresource, own, asked=asked)

    def _create(
        self, kind: Kind, namespace: str, obj: Object, request: Request, own: Own
    ) -> Object:
        """Create an object that webhooks and policies let pass."""
        review = None
        obj = naming_requester(kind, obj, request)
        if not self.admission.idle:
            place = (namespace, require_map(obj, "metadata").get("name") or "")
            write = write_of("CREATE", kind, place, request)
            obj = self.admission.mutated(write, obj, None, request, self._reading(kind, request))
            review = self.admission.reviewing(write, request)
        new = self._store.create(
            kind.resource, namespace, obj, dry_run=request.dry_run, own=own, review=review
        )
        return without_version(new) if request.dry_run else new

    def _replace(
        self,
        kind: Kind,
        place: tuple[str, str],
        obj: Object,
        request: Request,
        subresource: str,
        own: Own,
        *,
        asked: bool = False,
    ) -> Object:
        """Replace an object, or its subresource, by one that webhooks and policies let pass."""
        review = None
        if not (asked or self.admission.idle):
            old = self._store.get(kind.resource, *place)
            write = write_of("UPDATE", kind, place, request, subresource=subresource)
            obj = self.admission.mutated(write, obj, old, request, self._reading(kind, request))
            review = self.admission.reviewing(write, request)
        new = self._store.replace(
            kind.resource,
            *place,
            obj,
            subresource=subresource or None,
            dry_run=request.dry_run,
            own=own,
            review=review,
        )
        return as_written(kind, subresource, obj, new)

    @staticmethod
    def _reading(kind: Kind, request: Request) -> Callable[[Object], Object]:
        return lambda obj: check_object(obj, kind, request).obj

    def patch(
        self, kind: Kind, namespace: str, name: str, request: Request, subresource: str = ""
    ) -> Response:
        """Patch an object, or its subresource; raises ApiError."""
        media = kind_of_patch(request.headers.get("content-type", ""))
        if kind.custom is not None and media == STRATEGIC:
            raise not_strategic()
        patch = read_patch(request, media, values=most_values(kind))
        if media == APPLY:
            return self._apply(kind, namespace, name, patch, request, subresource)
        if "force" in request.query:
            why = ("force", "Forbidden: may not be specified for non-apply patch")
            raise invalid("PatchOptions", "meta.k8s.io", "", [why])
        current = self._shown(kind, self._store.get(kind.resource, namespace, name))
        seen = self._seen(kind)
        root = root_field(seen)
        patched = apply_patch(current, media, patch, root)
        client_object = check_patched(patched, seen, request, patch)
        with warning_all_the_same(client_object):
            check_named(client_object.obj, name)
            drop_namespace(kind, client_object.obj)
            check_place(client_object.obj, namespace, name)
            check_same_uid(kind, current, client_object.obj)
            obj = self._kept(client_object.obj)
            new = self.replace(kind, namespace, name, obj, request, subresource)
        return self._written_response(kind, new, request, 200, client_object)

    def _apply(
        self,
        kind: Kind,
        namespace: str,
        name: str,
        config: Any,
        request: Request,
        subresource: str,
    ) -> Response:
        seen = self._seen(kind)
        manager, client_object = read_application(seen, name, config, request, subresource)
        writer = self._writer(seen, manager, subresource)
        check_place(client_object.obj, namespace, name)
        absent = self._store.find(kind.resource, namespace, name) is None
        if absent and subresource:
            self._store.get(kind.resource, namespace, name)  # says that it is not found
        if absent:
            require_creation(kind, namespace, name, request)
            check_new(kind, name, client_object.obj, config)
        live: Object = {"metadata": {}}
        if not absent:
            live = self._shown(kind, self._store.get(kind.resource, namespace, name))
            check_same_uid(kind, live, client_object.obj)
        if client_object.obj["metadata"].get("resourceVersion") is None:
            live = {**live, "metadata": {**live["metadata"]}}
            live["metadata"].pop("resourceVersion", None)
        root, force = root_field(seen) or ANY, request.flag("force")
        result, managed = ownership.apply_configuration(
            live, client_object.obj, root, writer, force=force
        )
        result = self._kept(without_nulls(result, seen))
        own = self._stating(kind, request, managed)
        if absent:
            self._store.custom.require_creatable(kind)
            new = self._create(kind, namespace, result, request, own)
            return self._written_response(kind, new, request, 201, client_object)
        new = self._replace(kind, (namespace, name), result, request, subresource, own)
        return self._written_response(kind, new, request, 200, client_object)

    def _writer(self, kind: Kind, manager: str, subresource: str) -> Writer:
        at = rfc3339(self._engine.now)
        return Writer(manager, kind.api_version, at, subresource, status_is_plain(kind))

    @staticmethod
    def _stating(kind: Kind, request: Request, managed: list[Object]) -> Own:
        """Return what gives an object these owners."""

        def own(old: Object | None, new: Object) -> None:
            if request.requester is not None:
                check_escalation(kind, old, new, request.requester)
            new["metadata"]["managedFields"] = managed
            check_stored(new, values=most_stored_values(kind))

        return own

    def _owning(
        self, kind: Kind, request: Request, subresource: str = "", given: Object | None = None
    ) -> Any:
        manager = request.query.get("fieldManager", "") or UNKNOWN_MANAGER
        seen = self._seen(kind)
        writer = self._writer(seen, manager, subresource)
        root = root_field(seen) or ANY

        def own(old: Object | None, new: Object) -> None:
            if request.requester is not None:
                check_escalation(kind, old, new, request.requester)
            before, after = old, new
            if self._version is not None:
                before = None if old is None else self._version.convert(old)
                after = self._version.convert(new)
            managed = ownership.after_update(before, after, root, writer, given)
            new["metadata"]["managedFields"] = managed
            check_stored(new, values=most_stored_values(kind))

        return own

    # ---- deleting

    def _delete_and_answer(
        self, kind: Kind, namespace: str, name: str, request: Request
    ) -> Response:
        """Delete an object and answer with it, or say that it is gone."""
        warned = ClientObject({}, left_behind(kind, request))
        with warning_all_the_same(warned):
            obj = self._deletions.delete(kind, namespace, name, request)
        if kind.resource in SHOWN_WHEN_GONE or "deletionTimestamp" in obj["metadata"]:
            return replace(self._written_response(kind, obj, request), headers=warned.headers())
        gone = respond(200, success(kind, name, obj["metadata"]["uid"]))
        return replace(gone, headers=warned.headers())

    def _written_response(
        self,
        kind: Kind,
        obj: Object,
        request: Request,
        status: int = 200,
        client_object: ClientObject | None = None,
    ) -> Response:
        """Answer with a written object, in the form that the client accepts."""
        form = Form.for_request(request, kind)
        shown = form.one(kind.resource, self._shown(kind, obj), self._engine.now)
        headers: Mapping[str, str] = {}
        if client_object is not None:
            more = advice_of(kind.resource, obj, created=status == CREATED)
            headers = replace(client_object, warnings=(*client_object.warnings, *more)).headers()
        return Response(status, respond(status, shown).body, headers=headers)

    def _read(self, kind: Kind, request: Request) -> ClientObject:
        """Read an object as it is to be kept; raises ApiError 400 or 415."""
        client_object = read_object(request, self._seen(kind))
        drop_namespace(kind, client_object.obj)
        return replace(client_object, obj=self._kept(client_object.obj))

    def _seen(self, kind: Kind) -> Kind:
        """Return a kind in the version in which clients write it."""
        return kind if self._version is None else self._version.shown

    def _kept(self, obj: Object) -> Object:
        """Return what a client wrote in the version in which it is kept."""
        return obj if self._version is None else self._version.back(obj)

    def _shown(self, kind: Kind, obj: Object) -> Object:
        """Return an object in the version of a kind."""
        if self._version is not None:
            return self._version.convert(obj)
        if kind.custom is None:
            return obj
        return kind.custom.show(obj, kind.api_version)
