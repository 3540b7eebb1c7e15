"""Namespaces that are deleted: Terminating, emptied some seconds later, then gone.

Pods go first, the rest when none is left; the conditions say what remains. As on a real cluster nobody watches the
content: it is looked at again after half the time that it is expected to take. Source: kubernetes/kubernetes
pkg/controller/namespace and its folder deletion (with OrderedNamespaceDeletion).
"""

from __future__ import annotations

from collections import Counter

from twin.admission.deletion import is_waited_for
from twin.changes import Change
from twin.clock import exact
from twin.controllers.conditions import set_condition
from twin.kinds import KINDS
from twin.part import Part
from twin.records import Object, ObjectRecord, PodRecord
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
_FAILURE = "NamespaceDeletionContentFailure"
_OTHERS = sorted((name for name in KINDS if name != "pods"), key=lambda name: name == "events")
"""Kinds after pods; what is deleted last reports last."""
_SUMMARIES = {
    "NamespaceContentRemaining": ("ContentRemoved", "All content successfully removed"),
    "NamespaceFinalizersRemaining": (
        "ContentHasNoFinalizers",
        "All content-preserving finalizers finished",
    ),
}
"""What is said where nothing is left, by type of condition."""
_GRACE_SECONDS = 5.0
"""namespaceDeletionGracePeriod: until every API server has heard of the deletion."""
_FINALIZER_SECONDS = 15.0
"""How long finalizers of the content are expected to take."""
_RETRY_SECONDS = 0.5
"""After a look that failed; upstream's queue begins with 5 ms and doubles."""
_OWN = "kubernetes"
"""What a namespace's spec waits for until its content is gone."""


class Namespaces(Part):
    """Empties namespaces that are being deleted, pods first."""

    KEEPS = ("_due",)

    def __init__(self, world: World) -> None:
        self._world = world
        self._due: dict[str, float] = {}
        """When a namespace is looked at next, by its name."""
        world.clock.handle("namespace.empty", self._empty)

    def follow(self, change: Change) -> None:
        """Plan the next look at a namespace that is being deleted."""
        record = change.record
        if change.resource == _RESOURCE and record.deletion_at is not None:
            if change.type == "DELETED":
                self._due.pop(record.name, None)
            else:
                self._plan(record.name, _GRACE_SECONDS)

    def _plan(self, name: str, wait: float) -> None:
        at = exact(self._world.now + wait)
        if name not in self._due or at < self._due[name]:
            self._due[name] = at
            self._world.clock.at(at, "namespace.empty", name, at)

    def _empty(self, name: str, due: float) -> None:
        if self._due.get(name) != due:
            return  # it was looked at earlier, or is gone
        del self._due[name]
        home = self._world.store.find(_RESOURCE, "", name)
        if (
            not isinstance(home, ObjectRecord)
            or home.deletion_at is None
            or not is_waited_for(home)
        ):
            return
        left = _Left(self._longest_stay(home))
        self._delete_all("pods", name, left)
        only_pods = bool(left.counts)
        if not only_pods:
            for resource in (*_OTHERS, *self._world.store.custom.stored):
                self._delete_all(resource, name, left)
        self._write(home, left, only_pods=only_pods)
        if left.failed:
            self._plan(name, _RETRY_SECONDS)
        elif left.counts:
            self._plan(name, left.wait_seconds // 2 + 1)
        else:
            self._release(home)

    def _longest_stay(self, home: ObjectRecord) -> float:
        """Return the longest grace of its pods; 0 when it should be over."""
        pods = (one for one in self._world.store.records("pods", home.name))
        graces = [one.shape.grace_seconds for one in pods
                  if isinstance(one, PodRecord) and not one.terminal]  # fmt: skip
        longest, deleted_at = max(graces, default=0.0), home.deletion_at or 0.0
        return float(longest) if self._world.now - deleted_at < longest else 0.0

    def _delete_all(self, resource: str, name: str, left: _Left) -> None:
        """Delete all objects of a kind, and note what is still there."""
        store = self._world.store
        kind = store.custom.kind_of(resource)
        if kind is None or not kind.namespaced or not store.count(resource):
            return
        for record in list(store.records(resource, name)):
            store.delete(resource, name, record.name, propagation="Background")
        rest = list(store.records(resource, name))
        if not rest:
            return
        left.counts[_qualified_name(resource)] = len(rest)
        for record in rest:
            left.finalizers.update(record.finalizers)
        stay = left.stay_seconds if resource == "pods" else 0.0
        held = any(record.finalizers for record in rest)
        left.wait_seconds = max(left.wait_seconds, stay or _FINALIZER_SECONDS * held)
        if not stay and not held:
            version = f"{kind.group or ''}/{kind.version}"
            where = f"in namespace: {name} for gvr: {version}, Resource={kind.plural}"
            left.failed.append(f"unexpected items still remain {where}")

    def _write(self, home: ObjectRecord, left: _Left, *, only_pods: bool) -> None:
        """Say in the conditions what is left; of pods alone nothing is said, as upstream has it."""
        said = _Left() if only_pods else left
        conditions = self._conditions(home, said, sorted(left.failed))
        status = {
            **(home.body.get("status") or {}),
            "phase": "Terminating",
            "conditions": conditions,
        }
        if home.body.get("status") != status:
            before = home.clone()
            home.body = {**home.body, "status": status}
            self._world.store.touch(_RESOURCE, home, before)

    def _release(self, home: ObjectRecord) -> None:
        """Let go of a namespace that is empty."""
        before, others = home.clone(), _others(home)
        home.body = {**home.body, "spec": {"finalizers": others} if others else {}}
        if others or home.finalizers:
            self._world.store.touch(_RESOURCE, home, before)
        else:
            self._world.store.remove(_RESOURCE, home, before)

    def _conditions(self, home: ObjectRecord, left: _Left, failed: list[str]) -> list[Object]:
        now = rfc3339(self._world.now)
        known: list[Object] = (home.body.get("status") or {}).get("conditions") or []
        for kind, reason, text in _SOUND:
            if failed and kind == _FAILURE:
                what = f"{len(failed)} remaining: {', '.join(failed)}"
                said = (
                    "True",
                    "ContentDeletionFailed",
                    f"Failed to delete all resource types, {what}",
                )
            else:
                said = ("False", reason, text)
            known = set_condition(known, kind, *said, now)
        rows = [f"{kind} has {count} resource instances" for kind, count in left.counts.items()]
        text = f"Some resources are remaining: {', '.join(sorted(rows))}"
        known = _summed_up(
            known, "NamespaceContentRemaining", ("SomeResourcesRemain", text), now, rows
        )
        rows = [f"{name} in {count} resource instances" for name, count in left.finalizers.items()]
        text = f"Some content in the namespace has finalizers remaining: {', '.join(sorted(rows))}"
        return _summed_up(
            known, "NamespaceFinalizersRemaining", ("SomeFinalizersRemain", text), now, rows
        )


class _Left:
    """What one look found still there."""

    def __init__(self, stay_seconds: float = 0.0) -> None:
        self.stay_seconds = stay_seconds
        self.counts: Counter[str] = Counter()
        self.finalizers: Counter[str] = Counter()
        self.wait_seconds = 0.0
        self.failed: list[str] = []


def _summed_up(
    known: list[Object], kind: str, left: tuple[str, str], now: str, rows: list[str]
) -> list[Object]:
    """Return conditions with one that sums up what is left; rows of nothing say that all is well."""
    reason, text = left if rows else _SUMMARIES[kind]
    return set_condition(known, kind, str(bool(rows)), reason, text, now)


def _others(home: ObjectRecord) -> list[str]:
    """Return the finalizers of a namespace's spec that somebody else takes away."""
    finalizers = (home.body.get("spec") or {}).get("finalizers") or []
    return [name for name in finalizers if name != _OWN]


def _qualified_name(resource: str) -> str:
    if resource not in KINDS:
        return resource
    group = KINDS[resource].group
    return f"{resource}.{group or ''}"
