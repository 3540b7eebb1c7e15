"""Deletions: of one object, and of a whole collection."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from twin.api.admitting import Admission, write_of
from twin.api.bodies import ClientObject, delete_options, require_map
from twin.api.listing import list_objects
from twin.api.messages import Object, Request, Response, is_dry_run, respond
from twin.errors import bad_request
from twin.kinds import Kind
from twin.store import Store

_ORPHANING = frozenset({"jobs", "replicationcontrollers"})
"""Resources that were there before garbage was collected: their pods stay unless a client says otherwise."""
_POLICIES = frozenset({"orphan", "foregroundDeletion"})
_LEFT_BEHIND = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove "
    "them or set propagationPolicy=Orphan to suppress this warning"
)


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
        warned = ClientObject({}, left_behind(kind, request))
        return replace(respond(200, listed), headers=warned.headers())

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

    def _default(self, kind: Kind, namespace: str, name: str) -> str | None:
        """Return the policy of a deletion that states none: that of an earlier one, or the kind's own."""
        if kind.resource not in _ORPHANING:
            return None
        record = self._store.record(kind.resource, namespace, name)
        return None if _POLICIES & set(record.finalizers) else "Orphan"

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
            grace_period_seconds=None if grace is None else _whole(grace),
            propagation=options.get("propagationPolicy") or self._default(kind, namespace, name),
            dry_run=_is_dry_run(request),
            announced=True,
        )


def _whole(value: Any) -> int:
    """Read a number of seconds; raises ApiError 400 in the words of a real server."""
    text = str(value)
    if not re.fullmatch(r"[-+]?[0-9]+", text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    if not -(1 << 63) <= int(text[:30]) < 1 << 63:
        raise bad_request(f'strconv.ParseInt: parsing "{text}": value out of range')
    return int(text)


def success(kind: Kind, name: str, uid: str) -> Object:
    """Return what is answered of an object that is gone."""
    details = {"name": name, "group": kind.group, "kind": kind.plural, "uid": uid}
    done: Object = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
    return {**done, "details": {key: value for key, value in details.items() if value}}


def left_behind(kind: Kind, request: Request) -> tuple[str, ...]:
    """Return the warning of a deletion that does not say what is to become of a Job's pods."""
    asked = kind.resource != "jobs" or delete_options(request).get("propagationPolicy") is not None
    return () if asked else (_LEFT_BEHIND,)


def _is_dry_run(request: Request) -> bool:
    """Say whether nothing goes; options in the body replace those of the query, as a real server has it."""
    if request.body:
        return is_dry_run(delete_options(request).get("dryRun"))
    return request.dry_run
