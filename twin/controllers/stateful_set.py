"""StatefulSet: pods with stable names, made and replaced one after the other.

OrderedReady waits for each pod to be available before the next one; Parallel does not. A rolling
update replaces pods from the highest ordinal down to the partition, as many at a time as may be unavailable;
OnDelete replaces none. Source: kubernetes/kubernetes pkg/controller/statefulset.
Claims of its templates: `claim_templates.py`.
"""

from __future__ import annotations

import math

from twin.controllers.adoption import Adoption
from twin.controllers.claim_templates import (
    give_claims_to,
    make_claims,
    templates_of,
    volumes_of,
)
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import create_pod, owned_pods, report, set_status
from twin.controllers.revisions import (
    POD_REVISION,
    current_revision,
    forget_revisions,
    revisions_of,
    template_of,
)
from twin.controllers.rollout import part_of
from twin.records import Object, ObjectRecord, PodRecord
from twin.world import World

_RESOURCE = "statefulsets"
POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


class StatefulSets:
    """Reconciles statefulsets."""

    def __init__(self, world: World, loop: ControllerLoop, adoption: Adoption) -> None:
        self._world = world
        self._loop = loop
        self._adoption = adoption

    def reconcile(self, namespace: str, name: str) -> bool:
        """Take the next step, then write the status; False when a pod was refused."""
        record = self._world.store.find(_RESOURCE, namespace, name)
        if not isinstance(record, ObjectRecord):
            return True
        if record.deletion_at is not None:
            return True
        self._adoption.claim(_RESOURCE, record)
        update = current_revision(self._world, _RESOURCE, record)
        stored = record.body.get("status") or {}
        names = {entry.name: entry for entry in revisions_of(self._world, record)}
        current = names.get(stored.get("currentRevision", ""), update)
        accepted = self._step(record, current, update)
        current = self._write_status(record, current, update)
        in_use = {pod.labels.get(POD_REVISION, "") for pod in self._pods(record)}
        forget_revisions(self._world, record, {*in_use, current.name, update.name})
        return accepted

    # ---- one step

    def _step(self, record: ObjectRecord, current: ObjectRecord, update: ObjectRecord) -> bool:
        spec, pods = record.body["spec"], self._pods(record)
        start = int((spec.get("ordinals") or {}).get("start", 0))
        ordered = spec.get("podManagementPolicy", "OrderedReady") == "OrderedReady"
        by_ordinal = {ordinal: pod for pod in pods if (ordinal := ordinal_of(record, pod)) >= 0}
        ordinals = range(start, start + int(spec["replicas"]))
        condemned = sorted((o for o in by_ordinal if o not in ordinals), reverse=True)
        for ordinal in ordinals:
            pod = by_ordinal.get(ordinal)
            if pod is None:
                revision = self._revision_for(record, ordinal, current, update)
                if not self._create(record, ordinal, revision):
                    return False
                if ordered:
                    return True
            elif (self._ends(record, pod) or not self._available(record, pod)) and ordered:
                return True
        if self._remove(record, condemned, by_ordinal, ordered=ordered) and ordered:
            return True
        if (spec.get("updateStrategy") or {}).get("type") != "OnDelete":
            self._update(record, ordinals, by_ordinal, update)
        return True

    def _ends(self, record: ObjectRecord, pod: PodRecord) -> bool:
        """Delete a pod that has ended; its successor comes when it is gone."""
        if pod.terminal and pod.deletion_at is None:
            self._delete(record, pod)
        return pod.terminal

    def _remove(
        self, record: ObjectRecord, condemned: list[int], pods: dict[int, PodRecord], *,
        ordered: bool,
    ) -> bool:  # fmt: skip
        """Delete pods beyond the replicas, highest first; True when there was something to do."""
        unhealthy = next((o for o in reversed(condemned) if not self._available(record, pods[o])),
                         None)  # fmt: skip
        for ordinal in condemned:
            pod = pods[ordinal]
            if pod.deletion_at is not None:
                if ordered:
                    return True
                continue
            if ordered and ordinal != unhealthy and not self._available(record, pod):
                return True
            give_claims_to(self._world, record, pod, ordinal)
            self._delete(record, pod)
            if ordered:
                return True
        return bool(condemned)

    def _update(
        self,
        record: ObjectRecord,
        ordinals: range,
        pods: dict[int, PodRecord],
        update: ObjectRecord,
    ) -> None:
        """Replace the highest pods that are not up to date, as long as few enough are unavailable."""
        rolling = (record.body["spec"].get("updateStrategy") or {}).get("rollingUpdate") or {}
        least = ordinals.start + int(rolling.get("partition", 0))
        found = [pods.get(ordinal) for ordinal in ordinals]
        gone = sum(pod is None or not self._available(record, pod) for pod in found)
        room = most_unavailable(rolling.get("maxUnavailable", 1), len(ordinals)) - gone
        for ordinal in reversed(ordinals):
            pod = pods.get(ordinal)
            if ordinal < least or room <= 0:
                return
            outdated = pod is not None and pod.labels.get(POD_REVISION) != update.name
            if pod is not None and outdated and pod.deletion_at is None:
                self._delete(record, pod)
                room -= 1

    # ---- pods

    def _revision_for(
        self, record: ObjectRecord, ordinal: int, current: ObjectRecord, update: ObjectRecord
    ) -> ObjectRecord:
        strategy = record.body["spec"].get("updateStrategy") or {}
        start = int((record.body["spec"].get("ordinals") or {}).get("start", 0))
        if strategy.get("type", "RollingUpdate") != "RollingUpdate":
            return update
        partition = int((strategy.get("rollingUpdate") or {}).get("partition", 0))
        return current if ordinal < start + partition else update

    def _create(self, record: ObjectRecord, ordinal: int, revision: ObjectRecord) -> bool:
        name = f"{record.name}-{ordinal}"
        template = template_of(revision)
        labels = {
            **((template.get("metadata") or {}).get("labels") or {}),
            POD_NAME: name,
            POD_INDEX: str(ordinal),
            POD_REVISION: revision.name,
        }
        if not make_claims(self._world, record, ordinal):
            return False
        spec = {**template["spec"], "hostname": name}
        if templates_of(record):
            spec["volumes"] = volumes_of(record, ordinal, spec.get("volumes") or ())
        service = record.body["spec"].get("serviceName")
        if service:
            spec["subdomain"] = service
        metadata = {"name": name, "labels": labels}
        refusal = create_pod(self._world, _RESOURCE, record, metadata=metadata, spec=spec)
        if refusal is None:
            self._tell(record, "Create", name)
        elif refusal.reason != "AlreadyExists":
            text = f"Create Pod {name} in StatefulSet {record.name} failed error: {refusal.message}"
            report(self._world, _RESOURCE, record, "FailedCreate", text)
        return refusal is None

    def _delete(self, record: ObjectRecord, pod: PodRecord) -> None:
        self._world.store.delete("pods", pod.namespace, pod.name)
        self._tell(record, "Delete", pod.name)

    def _tell(self, record: ObjectRecord, verb: str, name: str) -> None:
        if self._world.config.controllers.success_events:
            text = f"{verb} Pod {name} in StatefulSet {record.name} successful"
            report(self._world, _RESOURCE, record, f"Successful{verb}", text)

    def _pods(self, record: ObjectRecord) -> list[PodRecord]:
        return owned_pods(self._world, record.uid)

    def _available(self, record: ObjectRecord, pod: PodRecord) -> bool:
        if not pod.ready or pod.phase != "Running" or pod.deletion_at is not None:
            return False
        least = record.body["spec"].get("minReadySeconds", 0)
        wait = pod.ready_at + least - self._world.now
        if least and wait > 0.0:
            self._loop.note_later(wait, _RESOURCE, record.namespace, record.name)
            return False
        return True

    # ---- status

    def _write_status(
        self, record: ObjectRecord, current: ObjectRecord, update: ObjectRecord
    ) -> ObjectRecord:
        """Write the counts; return the revision that is the current one now."""
        pods = self._pods(record)
        live = [pod for pod in pods if pod.deletion_at is None]
        updated = sum(pod.labels.get(POD_REVISION) == update.name for pod in live)
        ready = sum(pod.ready for pod in pods)
        on_current = sum(pod.labels.get(POD_REVISION) == current.name for pod in live)
        rolling = (record.body["spec"].get("updateStrategy") or {}).get("type") != "OnDelete"
        if rolling and updated == len(pods) == ready:
            current, on_current = update, updated
        status: Object = {
            "observedGeneration": record.generation,
            "replicas": len(pods),
            "currentRevision": current.name,
            "updateRevision": update.name,
            "collisionCount": 0,
        }
        counts = {
            "availableReplicas": sum(self._available(record, pod) for pod in pods),
            "readyReplicas": ready,
            "currentReplicas": on_current,
            "updatedReplicas": updated,
        }
        status.update({name: count for name, count in counts.items() if count})
        set_status(self._world, _RESOURCE, record, status)
        return current


def most_unavailable(amount: int | str, replicas: int) -> int:
    """Return how many pods may be unavailable in a rolling update; percentages round down, one at least."""
    return max(1, math.floor(part_of(amount, replicas)))


def ordinal_of(record: ObjectRecord, pod: PodRecord) -> int:
    """Return the ordinal in a pod's name, -1 when the name is another's."""
    parent, _, number = pod.name.rpartition("-")
    return int(number) if parent == record.name and number.isdigit() else -1
