"""Namespaces that are deleted: Terminating, emptied, then gone.

The conditions say what is left, as kubernetes/kubernetes pkg/controller/namespace/deletion does.
"""

from __future__ import annotations

from collections import Counter

from twin.changes import Change
from twin.controllers.conditions import set_condition
from twin.kinds import KINDS
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339
from twin.world import World

_RESOURCE = "namespaces"
_SOUND = (
    (
        "NamespaceDeletionDiscoveryFailure",
        "ResourcesDiscovered",
        "All resources successfully discovered",
    ),
    (
        "NamespaceDeletionGroupVersionParsingFailure",
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    ),
    (
        "NamespaceDeletionContentFailure",
        "ContentDeleted",
        "All content successfully deleted, may be waiting on finalization",
    ),
)
_ORDER = sorted(KINDS, key=lambda name: name == "events")  # what is deleted last reports last


class Namespaces:
    """Empties namespaces that are being deleted."""

    def __init__(self, world: World) -> None:
        self._world = world
        world.clock.handle("namespace.empty", self._empty)

    def follow(self, change: Change) -> None:
        """Plan the next look at a namespace that is being deleted."""
        record = change.record
        if change.resource == _RESOURCE:
            if change.type != "DELETED" and record.deletion_at is not None:
                self._world.clock.after(0.0, "namespace.empty", record.name)
        elif change.type == "DELETED" and record.namespace:
            home = self._world.store.find(_RESOURCE, "", record.namespace)
            if home is not None and home.deletion_at is not None:
                self._world.clock.after(0.0, "namespace.empty", record.namespace)

    def _empty(self, name: str) -> None:
        store = self._world.store
        home = store.find(_RESOURCE, "", name)
        if not isinstance(home, ObjectRecord) or home.deletion_at is None:
            return
        left: Counter[str] = Counter()
        finalizers: Counter[str] = Counter()
        for resource in (*_ORDER, *store.custom.stored):
            kind = store.custom.kind_of(resource)
            if kind is None or not kind.namespaced or not store.count(resource):
                continue
            for record in list(store.records(resource, name)):
                if record.deletion_at is None:
                    store.delete(resource, name, record.name)
                if store.find(resource, name, record.name) is record:
                    left[_qualified_name(resource)] += 1
                    finalizers.update(record.finalizers)
        if store.find(_RESOURCE, "", name) is not home:
            return
        if not left and not home.finalizers and not _others(home):
            store.remove(_RESOURCE, home)
            return
        spec = {"finalizers": _others(home)} if _others(home) and not left else home.body["spec"]
        status = {"phase": "Terminating", "conditions": self._conditions(home, left, finalizers)}
        if home.body.get("status") != status or home.body["spec"] != spec:
            before = home.clone()
            home.body = {**home.body, "spec": spec, "status": status}
            store.touch(_RESOURCE, home, before)

    def _conditions(
        self, home: ObjectRecord, left: Counter[str], finalizers: Counter[str]
    ) -> list[Object]:
        now = rfc3339(self._world.now)
        known: list[Object] = (home.body.get("status") or {}).get("conditions") or []
        for kind, reason, text in _SOUND:
            known = set_condition(known, kind, "False", reason, text, now)
        text, reason = "All content successfully removed", "ContentRemoved"
        if left:
            listed = ", ".join(f"{kind} has {count} resource instances"
                               for kind, count in sorted(left.items()))  # fmt: skip
            text, reason = f"Some resources are remaining: {listed}", "SomeResourcesRemain"
        known = set_condition(
            known, "NamespaceContentRemaining", str(bool(left)), reason, text, now
        )
        text, reason = "All content-preserving finalizers finished", "ContentHasNoFinalizers"
        if finalizers:
            listed = ", ".join(f"{name} in {count} resource instances"
                               for name, count in sorted(finalizers.items()))  # fmt: skip
            text = f"Some content in the namespace has finalizers remaining: {listed}"
            reason = "SomeFinalizersRemain"
        truth = str(bool(finalizers))
        return set_condition(known, "NamespaceFinalizersRemaining", truth, reason, text, now)


def _others(home: ObjectRecord) -> list[str]:
    """Return the finalizers of a namespace's spec that somebody else takes away."""
    finalizers = (home.body.get("spec") or {}).get("finalizers") or []
    return [name for name in finalizers if name != "kubernetes"]


def _qualified_name(resource: str) -> str:
    if resource not in KINDS:
        return resource
    group = KINDS[resource].group
    return f"{resource}.{group or ''}"
