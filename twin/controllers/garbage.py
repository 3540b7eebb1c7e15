"""Garbage: what deleted owners leave behind, in all three ways of deleting.

Background: dependents go after their last owner. Foreground: the owner stays, marked, until the
dependents that block it (blockOwnerDeletion) are gone, and theirs before them. Orphan: dependents
lose the reference. An object that is made for, or later given to, an owner that does not exist goes
too; one that has another owner loses what is not there, and what only waits for it.
Source: kubernetes/kubernetes pkg/controller/garbagecollector.
"""

from __future__ import annotations

from twin.admission.deletion import GRACEFUL
from twin.changes import Change
from twin.controllers.loop import DELAY_SECONDS
from twin.kinds import KINDS, Kind
from twin.part import Part
from twin.records import Object, Record
from twin.world import World

_FOREGROUND, _ORPHAN = "foregroundDeletion", "orphan"
_POLICIES = {_FOREGROUND: "Foreground", _ORPHAN: "Orphan"}
"""What a deletion asks for by the finalizer that it leaves."""
_COMPONENT = "garbage-collector-controller"
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
        """Plan what a deletion, or an owner that is new to an object, asks for."""
        record, clock = change.record, self._world.clock
        place = (change.resource, record.namespace, record.name)
        if change.type == "DELETED":
            if record.uid in self._world.store.dependents:
                clock.after(DELAY_SECONDS, "garbage.collect", record.uid)
            self._note_awaited(record)
            return
        if record.deletion_at is not None and any(one in record.finalizers for one in _POLICIES):
            clock.after(DELAY_SECONDS, "garbage.finish", *place)
        if change.type == "ADDED" or has_other_owners(change):
            if record.owners and not all(self._is_there(record, one) for one in record.owners):
                clock.after(DELAY_SECONDS, "garbage.check", *place)
            self._note_awaited(record if change.before is None else change.before)

    def _note_awaited(self, record: Record) -> None:
        """Have the owners looked at that waited for an object which went, or which may block them no longer."""
        for owner in record.owners:
            if owner["uid"] in self._awaited:
                place = self._awaited[owner["uid"]]
                self._world.clock.after(DELAY_SECONDS, "garbage.finish", *place)

    def _collect(self, uid: str) -> None:
        """Look at all that an owner which is gone left behind."""
        for resource, record in self._dependents(uid):
            self._look(resource, record)

    def _check(self, resource: str, namespace: str, name: str) -> None:
        """Look at an object of whose owners some are not there."""
        record = self._world.store.find(resource, namespace, name)
        if record is not None:
            self._tell_of_other_namespaces(resource, record)
            self._look(resource, record)

    def _look(self, resource: str, record: Record) -> None:
        """Delete an object all of whose owners are gone; take owners that are not there from one that has another.

        What is in no namespace keeps owners that are in one: nobody can say in which.
        """
        if not record.owners or self._has_lost_owner(resource, record):
            return
        store, here = (
            self._world.store,
            [one for one in record.owners if self._is_there(record, one)],
        )
        solid = tuple(one for one in here if one["uid"] not in self._awaited)
        if solid:
            if len(solid) < len(record.owners):
                self._set_owners(resource, record, solid)
        elif not here and record.deletion_at is None:
            asked = next((_POLICIES[one] for one in record.finalizers if one in _POLICIES), None)
            store.delete_record(resource, record.namespace, record.name, propagation=asked)

    def _finish(self, resource: str, namespace: str, name: str) -> None:
        store = self._world.store
        owner = store.find(resource, namespace, name)
        if owner is None or owner.deletion_at is None:
            return
        if _ORPHAN in owner.finalizers:
            for kind, record in self._dependents(owner.uid):
                rest = tuple(entry for entry in record.owners if entry["uid"] != owner.uid)
                self._set_owners(kind, record, rest)
            self._release(resource, owner, _ORPHAN)
        elif _FOREGROUND in owner.finalizers:
            self._awaited[owner.uid] = (resource, namespace, name)
            for kind, record in self._dependents(owner.uid):
                if record.deletion_at is None:
                    self._look(kind, record)
                    if store.find(kind, record.namespace, record.name) is record:
                        self._delete_dependent(kind, record, owner.uid)
            if not any(_blocks(record, owner.uid) for _, record in self._dependents(owner.uid)):
                del self._awaited[owner.uid]
                self._release(resource, owner, _FOREGROUND)
        else:
            self._awaited.pop(owner.uid, None)

    def _delete_dependent(self, resource: str, record: Record, uid: str) -> None:
        """Delete what is left to an owner that waits; two that wait for each other would do so for ever."""
        if not any(one["uid"] == uid for one in record.owners):
            return
        below = self._dependents(record.uid)
        if any(one.uid in self._awaited and _blocks(one, record.uid) for _, one in below):
            free = ({**one, "blockOwnerDeletion": False} for one in record.owners)
            self._set_owners(resource, record, tuple(free))
        deeper = "Foreground" if below else None
        self._world.store.delete(resource, record.namespace, record.name, propagation=deeper)

    def _release(self, resource: str, owner: Record, finalizer: str) -> None:
        store, before = self._world.store, owner.clone()
        owner.finalizers = tuple(entry for entry in owner.finalizers if entry != finalizer)
        if owner.finalizers or resource in GRACEFUL:
            store.touch(resource, owner, before)
        else:
            store.remove(resource, owner)

    def _dependents(self, uid: str) -> list[tuple[str, Record]]:
        dependents = self._world.store.dependents.get(uid, {})
        return [(resource, record) for (resource, _), record in dependents.items()]

    # ---- owners

    def _is_there(self, record: Record, owner: Object) -> bool:
        """True when an owner is there, or of a kind that is not kept here."""
        resource, kind = self._kind_of(owner)
        if resource is None or kind is None:
            return True
        found = self._world.store.find(
            resource, record.namespace if kind.namespaced else "", owner["name"]
        )
        return found is not None and found.uid == owner["uid"]

    def _kind_of(self, owner: Object) -> tuple[str | None, Kind | None]:
        group = owner.get("apiVersion", "").rpartition("/")[0]
        custom = self._world.store.custom
        resource = _RESOURCE_OF.get((owner["kind"], group)) or custom.resource_of(
            group, owner["kind"]
        )
        return resource, None if resource is None else custom.kind_of(resource)

    def _has_lost_owner(self, resource: str, record: Record) -> bool:
        """True for what is in no namespace and owned by what is in one."""
        own = self._world.store.custom.kind_of(resource)
        if own is None or own.namespaced:
            return False
        kinds = (self._kind_of(owner)[1] for owner in record.owners)
        return any(kind is not None and kind.namespaced for kind in kinds)

    def _tell_of_other_namespaces(self, resource: str, record: Record) -> None:
        """Say of which owners only another namespace knows."""
        for owner in record.owners:
            known, kind = self._kind_of(owner)
            if (
                known is None
                or kind is None
                or not kind.namespaced
                or self._is_there(record, owner)
            ):
                continue
            every = self._world.store.records(known)
            if any(one.uid == owner["uid"] and one.namespace != record.namespace for one in every):
                self._tell(resource, record, owner)

    def _tell(self, resource: str, record: Record, owner: Object) -> None:
        place, kind = record.namespace, self._world.store.custom.kind_of(resource)
        who = (
            f"{owner.get('apiVersion')}/{owner['kind']}, namespace: {place}, name: {owner['name']}"
        )
        text = f'ownerRef [{who}, uid: {owner["uid"]}] does not exist in namespace "{place}"'
        named, reason = kind.kind if kind else resource, "OwnerRefInvalidNamespace"
        self._world.reporter.report(record, named, reason, text, _COMPONENT, warns=True)

    def _set_owners(self, resource: str, record: Record, owners: tuple[Object, ...]) -> None:
        store = self._world.store
        obj = store.get(resource, record.namespace, record.name)
        metadata = {**obj["metadata"], "ownerReferences": list(owners)}
        store.replace(resource, record.namespace, record.name, {**obj, "metadata": metadata})


def has_other_owners(change: Change) -> bool:
    """True when a change of an object was about its owners."""
    return change.before is not None and change.before.owners != change.record.owners


def _blocks(record: Record, uid: str) -> bool:
    return any(
        owner["uid"] == uid and owner.get("blockOwnerDeletion", False) for owner in record.owners
    )
