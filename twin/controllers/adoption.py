"""Pods that workloads give away and take in: by their selectors, as their labels change.

A pod whose labels no longer fit loses its owner and is replaced; one without an owner whose labels fit is taken in.
Source: kubernetes/kubernetes pkg/controller/controller_ref_manager.go. Sets that a Deployment makes look for pods only
when labels or owners of pods change, since nothing could have been made for their selectors before them.
"""

from __future__ import annotations

from collections.abc import Iterator

from twin.changes import Change
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import owned_pods, owner_reference
from twin.part import Part
from twin.records import Object, ObjectRecord, PodRecord, Record
from twin.selectors import matches
from twin.world import World

SETS = ("replicasets", "replicationcontrollers")
CLAIMING = (*SETS, "statefulsets", "daemonsets", "jobs")
"""Resources whose objects look for pods."""
_Key = tuple[str, str, str]
_Label = tuple[str, str, str]


class Adoption(Part):
    """Knows which sets have to look for pods."""

    KEEPS = ("_looking",)
    LEAVES = ("_by_label",)

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop
        self._looking: dict[_Key, None] = {}
        self._by_label: dict[_Label, dict[_Key, None]] | None = None

    def follow_set(self, change: Change) -> None:
        """Take in that a set has come, gone or changed."""
        record = change.record
        if change.type == "MODIFIED" or not isinstance(record, ObjectRecord):
            return
        key = (change.resource, record.namespace, record.name)
        if self._by_label is not None:
            known = self._by_label.setdefault(_label(record), {})
            if change.type == "ADDED":
                known[key] = None
            else:
                known.pop(key, None)
        if change.type == "DELETED":
            self._looking.pop(key, None)
        elif record.controller_uid() is None and not _selects_itself(record):
            self._looking[key] = None

    def follow_pod(self, pod: PodRecord, before: Record | None) -> None:
        """Let the sets look whose selectors an ownerless pod fits."""
        if not pod.labels or pod.deletion_at is not None or pod.controller_uid() is not None:
            return
        if before is not None and before.labels is pod.labels and before.owners is pod.owners:
            return
        by_label = self._index()
        places = [(pod.namespace, key, value) for key, value in pod.labels.items()]
        for place in (*places, (pod.namespace, "", "")):
            for key in by_label.get(place, ()):
                self._looking[key] = None
                self._loop.note(*key)

    def claim(self, resource: str, record: ObjectRecord) -> None:
        """Give away and take in pods, until those of a set are the ones that its selector fits."""
        selector = set_selector(record)
        known, fits = None, True  # replicas share their labels
        for pod in owned_pods(self._world, record.uid):
            if pod.labels is not known:
                known, fits = pod.labels, matches(selector, pod.labels)
            if not fits and pod.deletion_at is None:
                rest = [owner for owner in pod.owners if owner["uid"] != record.uid]
                self._set_owners(pod, rest)
        if self._looking.pop((resource, record.namespace, record.name), False) is False:
            return
        for pod in self._ownerless(record.namespace):
            if matches(selector, pod.labels) and _may_be_of(resource, record, pod):
                self._set_owners(pod, [*pod.owners, owner_reference(resource, record)])

    def _ownerless(self, namespace: str) -> Iterator[PodRecord]:
        for pod in self._world.store.records("pods", namespace):
            assert isinstance(pod, PodRecord)
            live = pod.deletion_at is None and not pod.terminal
            if live and pod.controller_uid() is None:
                yield pod

    def _index(self) -> dict[_Label, dict[_Key, None]]:
        """Return the sets by one label that their selectors need; made anew after a restart."""
        if self._by_label is None:
            self._by_label = {}
            for resource in CLAIMING:
                for record in self._world.store.records(resource):
                    assert isinstance(record, ObjectRecord)
                    key = (resource, record.namespace, record.name)
                    self._by_label.setdefault(_label(record), {})[key] = None
        return self._by_label

    def _set_owners(self, pod: PodRecord, owners: list[Object]) -> None:
        store = self._world.store
        obj = store.get("pods", pod.namespace, pod.name)
        metadata = {**obj["metadata"], "ownerReferences": owners}
        store.replace("pods", pod.namespace, pod.name, {**obj, "metadata": metadata})


def _selects_itself(record: ObjectRecord) -> bool:
    """True for a Job whose selector is made of its uid: no pod was there for it before it."""
    spec = record.body["spec"]
    return "completionMode" in spec and not spec.get("manualSelector")


def _may_be_of(resource: str, record: ObjectRecord, pod: PodRecord) -> bool:
    """True when a pod's name is one that the workload gives; only a StatefulSet's names say whose they are."""
    if resource != "statefulsets":
        return True
    parent, _, number = pod.name.rpartition("-")
    return parent == record.name and number.isdigit()


def set_selector(record: ObjectRecord) -> Object:
    """Return the selector of a set as an object; that of a ReplicationController is a plain map."""
    selector: Object = record.body["spec"].get("selector") or {}
    plain = all(isinstance(value, str) for value in selector.values())
    return {"matchLabels": selector} if plain else selector


def _label(record: ObjectRecord) -> _Label:
    """Return the place in the index; without any label that is needed, a place for all."""
    needed = set_selector(record).get("matchLabels") or {}
    key = min(needed, default="")
    return (record.namespace, key, needed.get(key, ""))
