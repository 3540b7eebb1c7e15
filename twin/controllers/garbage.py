"""Garbage: what deleted owners leave behind, in all three ways of deleting.

Background: dependents go after their last owner. Foreground: the owner stays, marked, until the
dependents that block it (blockOwnerDeletion) are gone, and theirs before them. Orphan: dependents
lose the reference. An object that is made for an owner that no longer exists goes too.
Source: kubernetes/kubernetes pkg/controller/garbagecollector.
"""

from __future__ import annotations

from twin.changes import Change
from twin.kinds import KINDS
from twin.part import Part
from twin.records import Object, Record
from twin.world import World

_FOREGROUND, _ORPHAN = "foregroundDeletion", "orphan"
_RESOURCE_OF = {(kind.kind, kind.group): name for name, kind in KINDS.items()}


class Garbage(Part):
    """Collects dependents and finishes foreground deletion and orphaning."""

    KEEPS = ("_awaited",)

    def __init__(self, world: World) -> None:
        self._world = world
        self._awaited: dict[str, tuple[str, str, str]] = {}  # owners in foreground deletion by uid
        world.clock.handle("garbage.collect", self._collect)
        world.clock.handle("garbage.finish", self._finish)
        world.clock.handle("garbage.check", self._check)

    def follow(self, change: Change) -> None:
        """Plan what a deletion asks for."""
        record, clock = change.record, self._world.clock
        if change.type == "DELETED":
            if record.uid in self._world.store.dependents:
                clock.after(0.0, "garbage.collect", record.uid)
            for owner in record.owners:
                if owner["uid"] in self._awaited:
                    clock.after(0.0, "garbage.finish", *self._awaited[owner["uid"]])
        elif record.deletion_at is not None:
            if record.finalizers and (
                _FOREGROUND in record.finalizers or _ORPHAN in record.finalizers
            ):
                place = (change.resource, record.namespace, record.name)
                clock.after(0.0, "garbage.finish", *place)
        elif change.type == "ADDED" and record.owners and not self._has_live_owner(record):
            clock.after(0.0, "garbage.check", change.resource, record.namespace, record.name)

    def _collect(self, uid: str) -> None:
        for resource, record in self._dependents(uid):
            rest = tuple(owner for owner in record.owners if owner["uid"] != uid)
            if any(self._exists(record.namespace, owner) for owner in rest):
                self._set_owners(resource, record, rest)
            else:
                self._world.store.delete_record(resource, record.namespace, record.name)

    def _check(self, resource: str, namespace: str, name: str) -> None:
        """Delete an object none of whose owners exists."""
        record = self._world.store.find(resource, namespace, name)
        if record is not None and record.owners and not self._has_live_owner(record):
            self._world.store.delete(resource, namespace, name)

    def _finish(self, resource: str, namespace: str, name: str) -> None:
        store = self._world.store
        owner = store.find(resource, namespace, name)
        if owner is None or owner.deletion_at is None:
            return
        dependents = self._dependents(owner.uid)
        if _ORPHAN in owner.finalizers:
            for kind, record in dependents:
                rest = tuple(entry for entry in record.owners if entry["uid"] != owner.uid)
                self._set_owners(kind, record, rest)
            self._release(resource, owner, _ORPHAN)
        elif _FOREGROUND in owner.finalizers:
            self._awaited[owner.uid] = (resource, namespace, name)
            for kind, record in dependents:
                if record.deletion_at is None:
                    deeper = "Foreground" if self._dependents(record.uid) else None
                    store.delete(kind, record.namespace, record.name, propagation=deeper)
            if not any(_blocks(record, owner.uid) for _, record in self._dependents(owner.uid)):
                del self._awaited[owner.uid]
                self._release(resource, owner, _FOREGROUND)

    def _release(self, resource: str, owner: Record, finalizer: str) -> None:
        store, before = self._world.store, owner.clone()
        owner.finalizers = tuple(entry for entry in owner.finalizers if entry != finalizer)
        if owner.finalizers or resource == "pods":
            store.touch(resource, owner, before)
        else:
            store.remove(resource, owner)

    def _dependents(self, uid: str) -> list[tuple[str, Record]]:
        dependents = self._world.store.dependents.get(uid, {})
        return [(resource, record) for (resource, _), record in dependents.items()]

    def _has_live_owner(self, record: Record) -> bool:
        return any(self._exists(record.namespace, owner) for owner in record.owners)

    def _exists(self, namespace: str, owner: Object) -> bool:
        """True when an owner is there, or of a kind that is not kept here."""
        group = owner.get("apiVersion", "").rpartition("/")[0]
        custom = self._world.store.custom
        resource = _RESOURCE_OF.get((owner["kind"], group))
        resource = resource or custom.resource_of(group, owner["kind"])
        kind = None if resource is None else custom.kind_of(resource)
        if resource is None or kind is None:
            return True
        place = namespace if kind.namespaced else ""
        record = self._world.store.find(resource, place, owner["name"])
        return record is not None and record.uid == owner["uid"]

    def _set_owners(self, resource: str, record: Record, owners: tuple[Object, ...]) -> None:
        store = self._world.store
        obj = store.get(resource, record.namespace, record.name)
        metadata = {**obj["metadata"], "ownerReferences": list(owners)}
        store.replace(resource, record.namespace, record.name, {**obj, "metadata": metadata})


def _blocks(record: Record, uid: str) -> bool:
    return any(
        owner["uid"] == uid and owner.get("blockOwnerDeletion", False) for owner in record.owners
    )
