"""Deployment: one ReplicaSet per template, rolled over within maxSurge and maxUnavailable."""

from __future__ import annotations

import math

import orjson

from twin.controllers.pods_of import (
    FIRST_NAME,
    owned_pods,
    owner_reference,
    set_spec,
    set_status,
)
from twin.controllers.replicaset import live_pods
from twin.names import suffix
from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339
from twin.world import World

HASH_LABEL = "pod-template-hash"
REVISION = "deployment.kubernetes.io/revision"


class Deployments:
    """Reconciles deployments."""

    def __init__(self, world: World) -> None:
        self._world = world

    def reconcile(self, namespace: str, name: str) -> None:
        """Bring the ReplicaSets towards the template and the number of replicas."""
        record = self._world.store.find("deployments", namespace, name)
        if not isinstance(record, ObjectRecord):
            return
        if record.deletion_at is None:
            owned = self._owned(record)
            current = self._current(record, owned)
            old = [entry for entry in owned if entry is not current]
            self._roll(record, current, old)
            self._forget_old(record, old)
        self._write_status(record)

    def _owned(self, record: ObjectRecord) -> list[ObjectRecord]:
        found = self._world.store.dependents.get(record.uid, {})
        return [
            entry
            for (resource, _), entry in found.items()
            if resource == "replicasets" and isinstance(entry, ObjectRecord)
        ]

    def _current(self, record: ObjectRecord, owned: list[ObjectRecord]) -> ObjectRecord:
        template = record.body["spec"]["template"]
        newest = max((_revision(entry) for entry in owned), default=0)
        for entry in owned:
            if _plain(entry.body["spec"]["template"]) == template:
                if _revision(entry) < newest:
                    self._annotate("replicasets", entry, newest + 1)
                self._annotate("deployments", record, _revision(entry))
                return entry
        return self._create(record, template, newest + 1)

    def _create(self, record: ObjectRecord, template: Object, revision: int) -> ObjectRecord:
        mark = suffix(orjson.dumps(template, option=orjson.OPT_SORT_KEYS), length=10)
        labels = {**((template.get("metadata") or {}).get("labels") or {}), HASH_LABEL: mark}
        spec = record.body["spec"]
        annotations = {**record.annotations, REVISION: str(revision)}
        if revision > 1:
            annotations.pop(FIRST_NAME, None)
        selector = spec["selector"]
        wanted = {**(selector.get("matchLabels") or {}), HASH_LABEL: mark}
        obj = {
            "metadata": {
                "name": f"{record.name}-{mark}",
                "labels": labels,
                "annotations": annotations,
                "ownerReferences": [owner_reference("deployments", record)],
            },
            "spec": {
                "replicas": 0,
                "selector": {**selector, "matchLabels": wanted},
                "template": {
                    **template,
                    "metadata": {**(template.get("metadata") or {}), "labels": labels},
                },
            },
        }
        made = self._world.store.create_record("replicasets", record.namespace, obj)
        assert isinstance(made, ObjectRecord)
        self._annotate("deployments", record, revision)
        return made

    def _annotate(self, resource: str, record: ObjectRecord, revision: int) -> None:
        if record.annotations.get(REVISION) != str(revision):
            before = record.clone()
            record.annotations = {**record.annotations, REVISION: str(revision)}
            self._world.store.touch(resource, record, before)

    def _roll(self, record: ObjectRecord, current: ObjectRecord, old: list[ObjectRecord]) -> None:
        spec = record.body["spec"]
        wanted = spec["replicas"]
        running_old = [entry for entry in old if _replicas(entry)]
        if spec.get("paused") and running_old:
            return
        if not running_old:
            self._set_replicas(current, wanted)
        elif spec["strategy"]["type"] == "Recreate":
            for entry in running_old:
                self._set_replicas(entry, 0)
            if not any(owned_pods(self._world, entry.uid) for entry in old):
                self._set_replicas(current, wanted)
        else:
            surge, unavailable = _room(spec["strategy"]["rollingUpdate"], wanted)
            total = _replicas(current) + sum(_replicas(entry) for entry in running_old)
            grown = min(wanted, _replicas(current) + max(0, wanted + surge - total))
            self._set_replicas(current, grown)
            self._shrink(running_old, current, wanted - unavailable)

    def _shrink(self, old: list[ObjectRecord], current: ObjectRecord, least: int) -> None:
        """Scale old ReplicaSets down, unready pods first, keeping `least` pods ready."""
        standing = {entry.uid: min(self._ready(entry), _replicas(entry)) for entry in old}
        ready = self._ready(current) + sum(standing.values())
        spare = max(0, ready - least)
        for entry in sorted(old, key=_revision):
            replicas = _replicas(entry)
            unready = replicas - standing[entry.uid]
            taken = min(replicas - unready, spare)
            spare -= taken
            self._set_replicas(entry, replicas - unready - taken)

    def _forget_old(self, record: ObjectRecord, old: list[ObjectRecord]) -> None:
        idle = [
            entry
            for entry in sorted(old, key=_revision)
            if not _replicas(entry) and not owned_pods(self._world, entry.uid)
        ]
        surplus = len(idle) - record.body["spec"]["revisionHistoryLimit"]
        for entry in idle[: max(0, surplus)]:
            self._world.store.delete("replicasets", entry.namespace, entry.name)

    def _set_replicas(self, record: ObjectRecord, replicas: int) -> None:
        set_spec(self._world, "replicasets", record, replicas=replicas)

    def _ready(self, record: ObjectRecord) -> int:
        return sum(pod.ready for pod in live_pods(owned_pods(self._world, record.uid)))

    def _write_status(self, record: ObjectRecord) -> None:
        owned = self._owned(record)
        template, wanted = record.body["spec"]["template"], record.body["spec"]["replicas"]
        counts = [
            (entry, len(live_pods(owned_pods(self._world, entry.uid))), self._ready(entry))
            for entry in owned
        ]
        total, ready = sum(row[1] for row in counts), sum(row[2] for row in counts)
        updated = sum(
            row[1] for row in counts if _plain(row[0].body["spec"]["template"]) == template
        )
        status: Object = {"observedGeneration": record.generation}
        amounts = {
            "replicas": total,
            "updatedReplicas": updated,
            "readyReplicas": ready,
            "availableReplicas": ready,
            "unavailableReplicas": max(0, max(wanted, total) - ready),
        }
        status.update({key: value for key, value in amounts.items() if value})
        rolling = record.body["spec"]["strategy"].get("rollingUpdate")
        least = wanted - (_room(rolling, wanted)[1] if rolling else 0)
        done = updated == wanted == total and ready >= wanted
        old = (record.body.get("status") or {}).get("conditions") or []
        now = rfc3339(self._world.now)
        status["conditions"] = [
            _condition(old, now, "Available", ready >= least, "MinimumReplicasAvailable",
                       "MinimumReplicasUnavailable"),
            _condition(old, now, "Progressing", True,
                       "NewReplicaSetAvailable" if done else "ReplicaSetUpdated", ""),
        ]  # fmt: skip
        set_status(self._world, "deployments", record, status)


def _condition(
    old: list[Object], now: str, kind: str, truth: bool, when_true: str, when_false: str
) -> Object:
    fresh = {
        "type": kind,
        "status": str(truth),
        "reason": when_true if truth else when_false,
        "message": "Deployment has minimum availability."
        if kind == "Available" and truth
        else "Deployment does not have minimum availability."
        if kind == "Available"
        else "",
    }
    for known in old:
        if known["type"] == kind and known["status"] == fresh["status"]:
            same = known["reason"] == fresh["reason"]
            updated = known["lastUpdateTime"] if same else now
            transition = known["lastTransitionTime"]
            return {**fresh, "lastUpdateTime": updated, "lastTransitionTime": transition}
    return {**fresh, "lastUpdateTime": now, "lastTransitionTime": now}


def _plain(template: Object) -> Object:
    """Return a ReplicaSet's template without the hash label, as the Deployment wrote it."""
    head = template.get("metadata") or {}
    labels = {k: v for k, v in (head.get("labels") or {}).items() if k != HASH_LABEL}
    return {**template, "metadata": {**head, "labels": labels}}


def _replicas(record: ObjectRecord) -> int:
    return int(record.body["spec"]["replicas"])


def _revision(record: ObjectRecord) -> int:
    return int(record.annotations.get(REVISION, "0"))


def _room(rolling: Object, replicas: int) -> tuple[int, int]:
    """Return (surge, unavailable) in pods; percentages round up and down, never both zero."""
    surge = math.ceil(_part(rolling["maxSurge"], replicas))
    unavailable = math.floor(_part(rolling["maxUnavailable"], replicas))
    return surge, (1 if surge == unavailable == 0 else unavailable)


def _part(amount: int | str, replicas: int) -> float:
    if isinstance(amount, str) and amount.endswith("%"):
        return int(amount[:-1]) * replicas / 100
    return int(amount)
