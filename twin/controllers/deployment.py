"""Deployment: one ReplicaSet per template, rolled over within maxSurge and maxUnavailable.

Recreate, pausing, proportional scaling during a rollout, the progress deadline and the revision
history work as in kubernetes/kubernetes pkg/controller/deployment; `kubectl rollout undo` writes an
earlier template, whose ReplicaSet is found again and gets a new revision.
"""

from __future__ import annotations

import orjson

from twin.controllers.conditions import find
from twin.controllers.deployment_status import Counts, ObservedSets, conditions
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import (
    FIRST_NAME,
    START_NODES,
    available_pods,
    owned_pods,
    owner_reference,
    report,
    set_status,
)
from twin.controllers.replicaset import REPLICA_FAILURE, live_pods, terminating_pods
from twin.controllers.rollout import Size, new_replicas, old_replicas, proportional, room
from twin.names import suffix
from twin.records import Object, ObjectRecord
from twin.world import World

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"
HISTORY = "deployment.kubernetes.io/revision-history"
DESIRED = "deployment.kubernetes.io/desired-replicas"
MAXIMUM = "deployment.kubernetes.io/max-replicas"
_NOT_COPIED = frozenset(
    {"kubectl.kubernetes.io/last-applied-configuration", REVISION, HISTORY, DESIRED, MAXIMUM}
)
_FIRST_ONLY = (FIRST_NAME, START_NODES)


class Deployments:
    """Reconciles deployments."""

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop

    def reconcile(self, namespace: str, name: str) -> None:
        """Bring the ReplicaSets towards the template and the number of replicas."""
        record = self._world.store.find("deployments", namespace, name)
        if not isinstance(record, ObjectRecord):
            return
        event = resized = ""
        if record.deletion_at is None:
            event, resized = self._sync(record)
        self._write_status(record, event, resized=bool(resized))

    def _sync(self, record: ObjectRecord) -> tuple[str, str]:
        """Return ("created" or "found" or nothing, "resized" or nothing)."""
        spec, owned = record.body["spec"], self._owned_sets(record)
        current = self._current(record, owned)
        old = [entry for entry in owned if entry is not current]
        paused = bool(spec.get("paused"))
        recreate = recreates(record)
        event = "found" if current else ""
        if not paused and current is None and not (recreate and self._old_pods_remain(old)):
            current, event = self._create(record, old), "created"
        elif current is not None:
            self._renew(record, current, owned)
        resized = any(_note(entry, DESIRED) not in (None, spec["replicas"]) for entry in owned
                      if _replicas(entry))  # fmt: skip
        if paused or (resized and event != "created"):
            self._rescale(record, current, old)
        elif recreate:
            self._recreate(record, current, old)
        elif current is not None:
            self._roll(record, current, old)
        if not paused and current is not None:
            self._forget_old(record, current, old)
        return event, "resized" if resized else ""

    # ---- ReplicaSets and revisions

    def _owned_sets(self, record: ObjectRecord) -> list[ObjectRecord]:
        dependents = self._world.store.dependents.get(record.uid, {})
        return [
            entry
            for (resource, _), entry in dependents.items()
            if resource == "replicasets" and isinstance(entry, ObjectRecord)
        ]

    def _current(self, record: ObjectRecord, owned: list[ObjectRecord]) -> ObjectRecord | None:
        template = record.body["spec"]["template"]
        for entry in owned:
            if plain_template(entry.body["spec"]["template"]) == template:
                return entry
        return None

    def _create(self, record: ObjectRecord, old: list[ObjectRecord]) -> ObjectRecord:
        spec = record.body["spec"]
        template, selector = spec["template"], spec["selector"]
        mark = suffix(orjson.dumps(template, option=orjson.OPT_SORT_KEYS), length=10)
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: mark}
        revision = max((_revision(entry) for entry in old), default=0) + 1
        surge, _ = room(spec["strategy"], spec["replicas"])
        total = sum(_replicas(entry) for entry in old)
        replicas = new_replicas(spec["replicas"], surge, 0, total)
        dropped = _FIRST_ONLY if revision > 1 else ()
        kept = (k for k in record.annotations if k not in _NOT_COPIED and k not in dropped)
        copied = {name: record.annotations[name] for name in kept}
        annotations = {**copied, **_sizes(spec), REVISION: str(revision)}
        set_spec: Object = {
            "replicas": replicas,
            "selector": {**selector, "matchLabels": {**(selector.get("matchLabels") or {}),
                                                     HASH_LABEL: mark}},
            "template": {**template, "metadata": {**(template.get("metadata") or {}),
                                                  "labels": labels}},
        }  # fmt: skip
        if spec.get("minReadySeconds"):
            set_spec["minReadySeconds"] = spec["minReadySeconds"]
        head = {
            "name": f"{record.name}-{mark}",
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner_reference("deployments", record)],
        }
        obj = {"metadata": head, "spec": set_spec}
        made = self._world.store.create_record("replicasets", record.namespace, obj)
        assert isinstance(made, ObjectRecord)
        self._annotate("deployments", record, {REVISION: str(revision)})
        if replicas:
            self._tell(record, made, 0, replicas)
        return made

    def _renew(
        self, record: ObjectRecord, current: ObjectRecord, owned: list[ObjectRecord]
    ) -> None:
        """Give the current ReplicaSet the newest revision and the Deployment's annotations."""
        own = _revision(current)
        newest = max(_revision(entry) for entry in owned)
        fresh = {
            key: value
            for key, value in record.annotations.items()
            if key not in _NOT_COPIED and key not in _FIRST_ONLY
        }
        if own < newest:
            past = current.annotations.get(HISTORY)
            fresh[HISTORY] = f"{past},{own}" if past else str(own)
            fresh[REVISION] = str(newest + 1)
        self._annotate("replicasets", current, fresh)
        self._annotate("deployments", record, {REVISION: str(_revision(current))})

    def _annotate(self, resource: str, record: ObjectRecord, fresh: dict[str, str]) -> None:
        known = record.annotations
        if any(known.get(key) != value for key, value in fresh.items()):
            before = record.clone()
            record.annotations = {**known, **fresh}
            self._world.store.touch(resource, record, before)

    def _forget_old(
        self, record: ObjectRecord, current: ObjectRecord, old: list[ObjectRecord]
    ) -> None:
        """Delete what the history limit does not keep, once the rollout is complete."""
        surplus = len(old) - record.body["spec"]["revisionHistoryLimit"]
        if surplus <= 0 or self._size(record, current).available < record.body["spec"]["replicas"]:
            return
        idle = [entry for entry in sorted(old, key=_revision)
                if not _replicas(entry) and not owned_pods(self._world, entry.uid)]  # fmt: skip
        for entry in idle[:surplus]:
            self._world.store.delete("replicasets", entry.namespace, entry.name)

    # ---- replicas

    def _roll(self, record: ObjectRecord, current: ObjectRecord, old: list[ObjectRecord]) -> None:
        spec = record.body["spec"]
        desired, active = spec["replicas"], [entry for entry in old if _replicas(entry)]
        surge, unavailable = room(spec["strategy"], desired)
        total = _replicas(current) + sum(_replicas(entry) for entry in active)
        own = _replicas(current)
        self._resize(record, current, desired if own > desired else
                     new_replicas(desired, surge, own, total))  # fmt: skip
        if active:
            active.sort(key=lambda entry: (entry.created_at, _revision(entry)))
            sizes = [self._size(record, entry) for entry in active]
            least = desired - unavailable
            counts = old_replicas(sizes, self._size(record, current), least)
            for entry, replicas in zip(active, counts, strict=True):
                self._resize(record, entry, replicas)

    def _recreate(
        self, record: ObjectRecord, current: ObjectRecord | None, old: list[ObjectRecord]
    ) -> None:
        for entry in old:
            self._resize(record, entry, 0)
        if current is not None and not self._old_pods_remain(old):
            self._resize(record, current, record.body["spec"]["replicas"])

    def _old_pods_remain(self, old: list[ObjectRecord]) -> bool:
        """True while pods of old ReplicaSets run, even if they are being deleted."""
        return any(
            _replicas(entry) or not all(p.terminal for p in owned_pods(self._world, entry.uid))
            for entry in old
        )

    def _rescale(
        self, record: ObjectRecord, current: ObjectRecord | None, old: list[ObjectRecord]
    ) -> None:
        """Follow a change of replicas outside of a rollout's steps."""
        spec = record.body["spec"]
        desired = spec["replicas"]
        every = [*old, *([current] if current is not None else [])]
        active = [entry for entry in every if _replicas(entry)]
        if len(active) <= 1:
            latest = active or ([current] if current is not None else
                                sorted(old, key=_revision)[-1:])  # fmt: skip
            for entry in latest:
                self._resize(record, entry, desired)
        elif current is not None and self._is_saturated(record, current):
            for entry in old:
                self._resize(record, entry, 0)
        elif spec["strategy"]["type"] == "RollingUpdate":
            surge, _ = room(spec["strategy"], desired)
            grows = desired + surge > sum(_replicas(entry) for entry in active)
            age = -1.0 if grows else 1.0
            active.sort(key=lambda entry: (-_replicas(entry), age * entry.created_at, entry.name))
            sizes = [self._size(record, entry) for entry in active]
            for entry, replicas in zip(active, proportional(sizes, desired, surge), strict=True):
                self._resize(record, entry, replicas)

    def _is_saturated(self, record: ObjectRecord, current: ObjectRecord) -> bool:
        desired = int(record.body["spec"]["replicas"])
        full = _replicas(current) == desired == _note(current, DESIRED)
        return full and self._size(record, current).available == desired

    def _resize(self, record: ObjectRecord, entry: ObjectRecord, replicas: int) -> None:
        before, own = entry.clone(), _replicas(entry)
        notes = {**entry.annotations, **_sizes(record.body["spec"])}
        if own == replicas and notes == entry.annotations:
            return
        entry.annotations = notes
        if own != replicas:
            entry.body = {**entry.body, "spec": {**entry.body["spec"], "replicas": replicas}}
            entry.generation += 1
        self._world.store.touch("replicasets", entry, before)
        if own != replicas:
            self._tell(record, entry, own, replicas)

    def _tell(self, record: ObjectRecord, entry: ObjectRecord, before: int, after: int) -> None:
        if self._world.config.controllers.success_events:
            word = "up" if after > before else "down"
            text = f"Scaled {word} replica set {entry.name} from {before} to {after}"
            report(self._world, "deployments", record, "ScalingReplicaSet", text)

    def _size(self, record: ObjectRecord, entry: ObjectRecord) -> Size:
        live = live_pods(owned_pods(self._world, entry.uid))
        least = record.body["spec"].get("minReadySeconds", 0)
        return Size(
            replicas=_replicas(entry),
            available=available_pods(live, least, self._world.now),
            room_before=_note(entry, MAXIMUM),
        )

    # ---- status

    def _write_status(self, record: ObjectRecord, event: str, *, resized: bool) -> None:
        spec, owned = record.body["spec"], self._owned_sets(record)
        current, wanted = self._current(record, owned), spec["replicas"]
        counts = self._counts(record, owned, current)
        status: Object = {"observedGeneration": record.generation}
        amounts = {
            "replicas": counts.replicas,
            "updatedReplicas": counts.updated,
            "readyReplicas": counts.ready,
            "availableReplicas": counts.available,
            "unavailableReplicas": max(0, sum(map(_replicas, owned)) - counts.available),
        }
        status.update({key: value for key, value in amounts.items() if value})
        status["terminatingReplicas"] = sum(
            terminating_pods(owned_pods(self._world, entry.uid)) for entry in owned
        )
        stored = record.body.get("status") or {}
        look = ObservedSets(
            name=record.name,
            wanted=wanted,
            least_available=wanted - room(spec["strategy"], wanted)[1],
            new_set="" if current is None else current.name,
            event=event,
            counts=counts,
            paused=bool(spec.get("paused")),
            resized=resized,
            deadline_seconds=spec.get("progressDeadlineSeconds", 600),
            failure=_failure(current, owned),
            now=self._world.now,
        )
        status["conditions"] = conditions(stored, look)
        self._watch_deadline(record, stored, status, look.deadline_seconds)
        set_status(self._world, "deployments", record, status)

    def _counts(
        self, record: ObjectRecord, owned: list[ObjectRecord], current: ObjectRecord | None
    ) -> Counts:
        world, least = self._world, record.body["spec"].get("minReadySeconds", 0)
        replicas = updated = ready = available = 0
        for entry in owned:
            live = live_pods(owned_pods(world, entry.uid))
            replicas += len(live)
            updated += len(live) if entry is current else 0
            ready += sum(pod.ready for pod in live)
            available += available_pods(live, least, world.now)
        return Counts(replicas, updated, ready, available)

    def _watch_deadline(
        self, record: ObjectRecord, stored: Object, status: Object, deadline_seconds: int
    ) -> None:
        """Look again when a rollout that has just moved would be late."""
        before = find(stored.get("conditions") or [], "Progressing")
        after = find(status["conditions"], "Progressing")
        if after is None or after == before or after["status"] == "False":
            return
        if after["reason"] != "NewReplicaSetAvailable":
            wait = deadline_seconds + 1.0
            self._loop.note_later(wait, "deployments", record.namespace, record.name)


def recreates(record: ObjectRecord) -> bool:
    """True for a Deployment that takes all old pods away before it makes new ones."""
    return bool(record.body["spec"]["strategy"]["type"] == "Recreate")


def plain_template(template: Object) -> Object:
    """Return a ReplicaSet's template without the hash label, as the Deployment wrote it."""
    head = template.get("metadata") or {}
    labels = {k: v for k, v in (head.get("labels") or {}).items() if k != HASH_LABEL}
    return {**template, "metadata": {**head, "labels": labels}}


def _failure(current: ObjectRecord | None, owned: list[ObjectRecord]) -> Object | None:
    first = [current] if current is not None else []
    for entry in [*first, *owned]:
        known = (entry.body.get("status") or {}).get("conditions") or []
        condition = find(known, REPLICA_FAILURE)
        if condition is not None:
            return condition
    return None


def _sizes(spec: Object) -> dict[str, str]:
    replicas = spec["replicas"]
    surge, _ = room(spec["strategy"], replicas)
    return {DESIRED: str(replicas), MAXIMUM: str(replicas + surge)}


def _note(record: ObjectRecord, key: str) -> int | None:
    text = record.annotations.get(key)
    return int(text) if text is not None and text.isdigit() else None


def _replicas(record: ObjectRecord) -> int:
    return int(record.body["spec"]["replicas"])


def _revision(record: ObjectRecord) -> int:
    return _note(record, REVISION) or 0
