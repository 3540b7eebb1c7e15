"""CustomResourceDefinitions: names accepted, versions noted, and their objects deleted with them.

Source: kubernetes/kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/controller (status, finalizer).
"""

from __future__ import annotations

from collections.abc import Iterator

from twin.admission.deletion import CLEANUP
from twin.changes import Change
from twin.controllers.conditions import set_condition
from twin.definitions.registry import DEFINITIONS, is_established
from twin.intake import is_custom
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339
from twin.world import World

BATCH = 200
"""Objects of a deleted definition that are deleted at a time; others have their turn between two."""
_SETTLE = "definitions.settle"


class Definitions:
    """Serves what definitions define, and takes it away."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.clock.handle(_SETTLE, self._settle)

    def follow(self, change: Change) -> None:
        """Plan the next look at a definition."""
        if change.resource == DEFINITIONS:
            if change.type != "DELETED":
                self._world.clock.after(0.0, _SETTLE, change.record.name)
                return
            for other in self._world.store.records(DEFINITIONS):  # its names are free
                if not _accepted_names(other):
                    self._world.clock.after(0.0, _SETTLE, other.name)
        elif change.type == "DELETED" and is_custom(change.resource):
            definition = self._world.store.find(DEFINITIONS, "", change.resource)
            if definition is not None and definition.deletion_at is not None:
                self._world.clock.after(0.0, _SETTLE, definition.name)

    def _settle(self, name: str) -> None:
        record = self._world.store.find(DEFINITIONS, "", name)
        if not isinstance(record, ObjectRecord):
            return
        if record.deletion_at is None:
            self._set_status(record, self._accept_names(record))
        elif CLEANUP in record.finalizers:
            self._clean(record)

    def _accept_names(self, record: ObjectRecord) -> Object:
        """Return the status of a definition: its names are accepted unless another has them."""
        now = rfc3339(self._world.now)
        status: Object = dict(record.body["status"])
        names = record.body["spec"]["names"]
        conflict = self._conflict(record, names)
        known = status.get("conditions") or []
        if conflict is None:
            found = ("True", "NoConflicts", "no conflicts found")
            status["acceptedNames"] = names
        else:
            found = ("False", conflict[0], f'"{conflict[1]}" is already in use')
        known = set_condition(known, "NamesAccepted", *found, now)
        if conflict is None:
            why = ("InitialNamesAccepted", "the initial names have been accepted")
            known = set_condition(known, "Established", "True", *why, now)
        elif not is_established(record):
            why = ("NotAccepted", "not all names are accepted")
            known = set_condition(known, "Established", "False", *why, now)
        stored = list(status.get("storedVersions") or ())
        for version in record.body["spec"]["versions"]:
            if version["storage"] and version["name"] not in stored:
                stored.append(version["name"])
        return {**status, "conditions": known, "storedVersions": stored}

    def _conflict(self, record: ObjectRecord, names: Object) -> tuple[str, str] | None:
        """Return reason and name of what another definition of the group uses already."""
        taken: set[str] = set()
        kinds: set[str] = set()
        for other in self._world.store.records(DEFINITIONS):
            assert isinstance(other, ObjectRecord)
            same = other.body["spec"]["group"] == record.body["spec"]["group"]
            if other.name != record.name and same:
                taken |= set(_words(_accepted_names(other)))
                kinds |= {_accepted_names(other).get(name, "") for name in ("kind", "listKind")}
        for reason, name in (("PluralConflict", "plural"), ("SingularConflict", "singular")):
            if names[name] in taken:
                return reason, names[name]
        for short in names.get("shortNames") or ():
            if short in taken:
                return "ShortNamesConflict", short
        for reason, name in (("KindConflict", "kind"), ("ListKindConflict", "listKind")):
            if names[name] in kinds:
                return reason, names[name]
        return None

    def _set_status(self, record: ObjectRecord, status: Object) -> None:
        if record.body["status"] != status:
            before = record.clone()
            record.body = {**record.body, "status": status}
            self._world.store.touch(DEFINITIONS, record, before)

    def _clean(self, record: ObjectRecord) -> None:
        """Delete some of a definition's objects; without any it goes itself."""
        store, resource = self._world.store, record.name
        conditions = record.body["status"].get("conditions") or []
        why = ("InstanceDeletionInProgress", "CustomResource deletion is in progress")
        now = rfc3339(self._world.now)
        conditions = set_condition(conditions, "Terminating", "True", *why, now)
        self._set_status(record, {**record.body["status"], "conditions": conditions})
        if resource in store.custom.stored:
            pending = (one for one in store.records(resource) if one.deletion_at is None)
            batch = [one for one, _ in zip(pending, range(BATCH), strict=False)]
            for one in batch:
                store.delete_record(resource, one.namespace, one.name)
            if len(batch) == BATCH:
                self._world.clock.after(0.0, _SETTLE, record.name)
                return
            if store.count(resource):
                return
        before = record.clone()
        record.finalizers = tuple(one for one in record.finalizers if one != CLEANUP)
        if record.finalizers:
            store.touch(DEFINITIONS, record, before)
        else:
            store.remove(DEFINITIONS, record, before)


def _accepted_names(record: object) -> Object:
    """Return the names that a definition has got; empty ones are none."""
    assert isinstance(record, ObjectRecord)
    names: Object = record.body["status"].get("acceptedNames") or {}
    return names if names.get("plural") else {}


def _words(names: Object) -> Iterator[str]:
    yield from (names[name] for name in ("plural", "singular") if names.get(name))
    yield from names.get("shortNames") or ()
