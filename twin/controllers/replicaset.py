"""ReplicaSet and ReplicationController: as many live pods as `spec.replicas` says."""

from __future__ import annotations

from twin.controllers.adoption import Adoption
from twin.controllers.conditions import find, remove_condition, set_condition
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import (
    FIRST_NAME,
    available_pods,
    by_least_loss,
    create_pod,
    delete_pod,
    first_availability,
    owned_pods,
    set_status,
)
from twin.errors import ApiError
from twin.records import Object, ObjectRecord, PodRecord
from twin.timestamps import rfc3339
from twin.world import World

REPLICA_FAILURE = "ReplicaFailure"


class ReplicaSets:
    """Reconciles the sets of one resource."""

    def __init__(
        self, world: World, loop: ControllerLoop, adoption: Adoption, resource: str
    ) -> None:
        self._world = world
        self._loop = loop
        self._adoption = adoption
        self._resource = resource

    def reconcile(self, namespace: str, name: str) -> bool:
        """Create or delete pods, then write the status; False when a pod was refused."""
        record = self._world.store.find(self._resource, namespace, name)
        if not isinstance(record, ObjectRecord):
            return True
        if record.deletion_at is None:
            self._adoption.claim(self._resource, record)
        owned = owned_pods(self._world, record.uid)
        live, refusal = live_pods(owned), None
        if record.deletion_at is None and record.body["spec"]["replicas"] != len(live):
            refusal = self._scale(record, live)
            owned = owned_pods(self._world, record.uid)
            live = live_pods(owned)
        self._write_status(record, live, refusal, terminating_pods(owned))
        return refusal is None

    def _scale(self, record: ObjectRecord, live: list[PodRecord]) -> ApiError | None:
        missing = record.body["spec"]["replicas"] - len(live)
        for _ in range(missing):
            first = FIRST_NAME in record.annotations
            refusal = create_pod(self._world, self._resource, record, first=first)
            if refusal is not None:
                home = self._world.store.find("namespaces", "", record.namespace)
                leaves = home is not None and home.deletion_at is not None
                return None if leaves else refusal  # a namespace on its way out is no failure
            if first:  # the name is for the first pod ever
                before = record.clone()
                kept = {k: v for k, v in record.annotations.items() if k != FIRST_NAME}
                record.annotations = kept
                self._world.store.touch(self._resource, record, before)
        if missing < 0:
            for pod in by_least_loss(live)[:-missing]:
                delete_pod(self._world, self._resource, record, pod)
        return None

    def _write_status(
        self,
        record: ObjectRecord,
        live: list[PodRecord],
        refusal: ApiError | None,
        terminating: int,
    ) -> None:
        world, spec = self._world, record.body["spec"]
        ready = sum(pod.ready for pod in live)
        status: Object = {"replicas": len(live), "observedGeneration": record.generation}
        if self._resource == "replicasets":
            status["terminatingReplicas"] = terminating
        if live:
            status["fullyLabeledReplicas"] = len(live)
        if ready:
            status["readyReplicas"] = ready
            status["availableReplicas"] = self._available(record, live, spec, ready)
            if not status["availableReplicas"]:
                del status["availableReplicas"]
        known = (record.body.get("status") or {}).get("conditions") or []
        if refusal is None:
            known = remove_condition(known, REPLICA_FAILURE)
        elif find(known, REPLICA_FAILURE) is None:  # the first one's words stay, as upstream
            now = rfc3339(world.now)
            known = set_condition(
                known, REPLICA_FAILURE, "True", "FailedCreate", refusal.message, now
            )
        if known:
            status["conditions"] = known
        set_status(world, self._resource, record, status)

    def _available(
        self, record: ObjectRecord, live: list[PodRecord], spec: Object, ready: int
    ) -> int:
        least = spec.get("minReadySeconds", 0)
        if not least:
            return ready
        now = self._world.now
        wait = first_availability(live, least, now)
        if wait is not None:
            self._loop.note_later(wait, self._resource, record.namespace, record.name)
        return available_pods(live, least, now)


def live_pods(pods: list[PodRecord]) -> list[PodRecord]:
    """Return the pods that count: neither ended nor being deleted."""
    return [pod for pod in pods if pod.deletion_at is None and not pod.terminal]


def terminating_pods(pods: list[PodRecord]) -> int:
    """Count the pods that are being deleted and have not ended."""
    return sum(pod.deletion_at is not None and not pod.terminal for pod in pods)
