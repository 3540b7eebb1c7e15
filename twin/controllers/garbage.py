"""Garbage: what deleted owners and namespaces leave behind."""

from __future__ import annotations

from twin.changes import Change
from twin.kinds import KINDS
from twin.part import Part
from twin.records import Object, ObjectRecord, Record
from twin.world import World

_FOREGROUND, _ORPHAN = "foregroundDeletion", "orphan"


class Garbage(Part):
    """Collects dependents, finishes foreground deletion, empties namespaces."""

    KEEPS = ("_awaited",)

    def __init__(self, world: World) -> None:
        self._world = world
        self._awaited: dict[str, tuple[str, str, str]] = {}  # owners in foreground deletion by uid
        world.clock.handle("garbage.collect", self._collect)
        world.clock.handle("garbage.finish", self._finish)
        world.clock.handle("garbage.empty", self._empty)

    def follow(self, change: Change) -> None:
        """Plan what a deletion asks for."""
        record, clock = change.record, self._world.clock
        if change.type == "DELETED":
            if record.uid in self._world.store.dependents:
                clock.after(0.0, "garbage.collect", record.uid)
            for owner in record.owners:
                if owner["uid"] in self._awaited:
                    clock.after(0.0, "garbage.finish", *self._awaited[owner["uid"]])
            namespace = self._world.store.find("namespaces", "", record.namespace)
            if namespace is not None and namespace.deletion_at is not None:
                clock.after(0.0, "garbage.empty", record.namespace)
        elif record.deletion_at is not None:
            if change.resource == "namespaces":
                clock.after(0.0, "garbage.empty", record.name)
            elif _FOREGROUND in record.finalizers or _ORPHAN in record.finalizers:
                place = (change.resource, record.namespace, record.name)
                clock.after(0.0, "garbage.finish", *place)

    def _collect(self, uid: str) -> None:
        for resource, record in self._dependents(uid):
            owners = tuple(owner for owner in record.owners if owner["uid"] != uid)
            if any(self._exists(owner["uid"]) for owner in owners):
                self._set_owners(resource, record, owners)
            else:
                self._world.store.delete(resource, record.namespace, record.name)

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
                    store.delete(kind, record.namespace, record.name)
            if not self._dependents(owner.uid):
                del self._awaited[owner.uid]
                self._release(resource, owner, _FOREGROUND)

    def _release(self, resource: str, owner: Record, finalizer: str) -> None:
        store, before = self._world.store, owner.clone()
        owner.finalizers = tuple(entry for entry in owner.finalizers if entry != finalizer)
        if owner.finalizers or resource == "pods":
            store.touch(resource, owner, before)
        else:
            store.remove(resource, owner)

    def _empty(self, namespace: str) -> None:
        store = self._world.store
        home = store.find("namespaces", "", namespace)
        if not isinstance(home, ObjectRecord) or home.deletion_at is None:
            return
        if home.body["status"]["phase"] != "Terminating":
            before = home.clone()
            home.body = {**home.body, "status": {"phase": "Terminating"}}
            store.touch("namespaces", home, before)
        left = 0
        for resource, kind in KINDS.items():
            for record in list(store.records(resource, namespace)) if kind.namespaced else []:
                if record.deletion_at is None:
                    store.delete(resource, namespace, record.name)
                left += store.find(resource, namespace, record.name) is record
        if not left and store.find("namespaces", "", namespace) is home:
            store.remove("namespaces", home)

    def _dependents(self, uid: str) -> list[tuple[str, Record]]:
        found = self._world.store.dependents.get(uid, {})
        return [(resource, record) for (resource, _), record in found.items()]

    def _exists(self, uid: str) -> bool:
        return any(
            record.uid == uid
            for resource in ("deployments", "replicasets", "jobs", "nodes", "pods", "configmaps")
            for record in self._world.store.records(resource)
        )

    def _set_owners(self, resource: str, record: Record, owners: tuple[Object, ...]) -> None:
        store = self._world.store
        obj = store.get(resource, record.namespace, record.name)
        metadata = {**obj["metadata"], "ownerReferences": list(owners)}
        store.replace(resource, record.namespace, record.name, {**obj, "metadata": metadata})
