"""Deletions: of one object, and of a whole collection."""

from __future__ import annotations

from twin.api.admitting import Admission, write_of
from twin.api.bodies import delete_options, require_map, whole_seconds
from twin.api.listing import list_objects
from twin.api.messages import Object, Request, Response, is_dry_run, respond
from twin.kinds import Kind
from twin.store import Store


class Deletions:
    """Deletes what webhooks and policies let go."""

    def __init__(self, store: Store, admission: Admission) -> None:
        """Delete from `store`."""
        self._store = store
        self._admission = admission

    def delete_all(self, kind: Kind, namespace: str | None, request: Request) -> Response:
        """Delete what a list request selects; nothing of it before all may go."""
        listed = list_objects(self._store, kind, namespace, request)
        places = [
            (item["metadata"].get("namespace", ""), item["metadata"]["name"])
            for item in listed["items"]
        ]
        self._ask(kind, places, request)
        for home, name in places:
            self._delete(kind, home, name, request)
        return respond(200, listed)

    def delete(self, kind: Kind, namespace: str, name: str, request: Request) -> Object:
        """Delete an object and return it as last seen."""
        self._ask(kind, [(namespace, name)], request)
        return self._delete(kind, namespace, name, request)

    def _ask(self, kind: Kind, places: list[tuple[str, str]], request: Request) -> None:
        if self._admission.idle:
            return
        writes = []
        for place in places:
            write = write_of("DELETE", kind, place, request, dry_run=_is_dry_run(request))
            old = self._store.get(kind.resource, *place)
            self._admission.show_deletion(write, old, request)
            writes.append((write, (None, old)))
        self._admission.check(writes, request)

    def _delete(self, kind: Kind, namespace: str, name: str, request: Request) -> Object:
        options = delete_options(request)
        conditions = require_map(options, "preconditions")
        grace = options.get("gracePeriodSeconds")
        return self._store.delete(
            kind.resource,
            namespace,
            name,
            uid=conditions.get("uid"),
            resource_version=conditions.get("resourceVersion"),
            grace_period_seconds=None if grace is None else whole_seconds(grace),
            propagation=options.get("propagationPolicy"),
            dry_run=_is_dry_run(request),
            announced=True,
        )


def _is_dry_run(request: Request) -> bool:
    """Say whether nothing goes; options in the body replace those of the query, as a real server has it."""
    if request.body:
        return is_dry_run(delete_options(request).get("dryRun"))
    return request.dry_run
