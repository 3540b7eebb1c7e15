"""ReplicaSet: as many live pods as `spec.replicas` says."""

from __future__ import annotations

from twin.controllers.pods_of import FIRST_NAME, by_least_loss, create_pod, owned_pods, set_status
from twin.records import ObjectRecord, PodRecord
from twin.world import World


class ReplicaSets:
    """Reconciles replicasets."""

    def __init__(self, world: World) -> None:
        self._world = world

    def reconcile(self, namespace: str, name: str) -> None:
        """Create or delete pods, then write the status."""
        record = self._world.store.find("replicasets", namespace, name)
        if not isinstance(record, ObjectRecord):
            return
        if record.deletion_at is None:
            self._scale(record)
        self._write_status(record)

    def _scale(self, record: ObjectRecord) -> None:
        live = live_pods(owned_pods(self._world, record.uid))
        missing = record.body["spec"]["replicas"] - len(live)
        for _ in range(missing):
            first = FIRST_NAME in record.annotations
            if not create_pod(self._world, "replicasets", record, first=first):
                break
            if first:  # the name is for the first pod ever
                before = record.clone()
                kept = {k: v for k, v in record.annotations.items() if k != FIRST_NAME}
                record.annotations = kept
                self._world.store.touch("replicasets", record, before)
        for pod in by_least_loss(live)[: max(0, -missing)]:
            self._world.store.delete("pods", pod.namespace, pod.name)

    def _write_status(self, record: ObjectRecord) -> None:
        live = live_pods(owned_pods(self._world, record.uid))
        ready = sum(pod.ready for pod in live)
        status = {"replicas": len(live), "observedGeneration": record.generation}
        if live:
            status["fullyLabeledReplicas"] = len(live)
        if ready:
            status["readyReplicas"] = status["availableReplicas"] = ready
        set_status(self._world, "replicasets", record, status)


def live_pods(pods: list[PodRecord]) -> list[PodRecord]:
    """Return the pods that count: neither ended nor being deleted."""
    return [pod for pod in pods if not pod.terminal and pod.deletion_at is None]
