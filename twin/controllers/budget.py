"""PodDisruptionBudgets: their status, and the evictions that they allow."""

from __future__ import annotations

import math

from twin import errors
from twin.controllers.pods_of import set_status
from twin.records import Object, ObjectRecord, PodRecord
from twin.selectors import matches
from twin.timestamps import rfc3339
from twin.world import World

_EVICTED = "EvictionByEvictionAPI"


class Budgets:
    """Reconciles poddisruptionbudgets and answers evictions."""

    def __init__(self, world: World) -> None:
        self._world = world

    def covering(self, pod: PodRecord) -> list[ObjectRecord]:
        """Return the budgets that select `pod`."""
        return [
            record
            for record in self._world.store.records("poddisruptionbudgets", pod.namespace)
            if isinstance(record, ObjectRecord)
            and matches(record.body["spec"].get("selector"), pod.labels)
        ]

    def reconcile(self, namespace: str, name: str) -> None:
        """Write the status of one budget."""
        record = self._world.store.find("poddisruptionbudgets", namespace, name)
        if isinstance(record, ObjectRecord):
            set_status(self._world, "poddisruptionbudgets", record, self._status(record))

    def evict(
        self,
        namespace: str,
        name: str,
        *,
        dry_run: bool = False,
        uid: str | None = None,
        grace_period_seconds: int | None = None,
    ) -> Object:
        """Delete a pod if its budget allows it; returns a Success Status.

        Raises ApiError 404, 409 (another uid), 429 with the budget's numbers, or 500 when several
        budgets select the pod, as the real API does.
        """
        pod = self._world.store.record("pods", namespace, name)
        assert isinstance(pod, PodRecord)
        if uid is not None and uid != pod.uid:
            why = f"the UID in the precondition ({uid}) does not match the UID ({pod.uid})"
            raise errors.conflict("pods", name, why)
        exempt = pod.terminal or pod.phase == "Pending" or pod.deletion_at is not None
        budgets = [] if exempt else self.covering(pod)
        if len(budgets) > 1:
            message = (
                "This pod has more than one PodDisruptionBudget, which the eviction "
                "subresource does not support."
            )
            raise errors.ApiError(500, "InternalError", message)
        if budgets:
            self._spend(budgets[0], pod, dry_run=dry_run)
        if not dry_run:
            self._delete(pod, grace_period_seconds)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
                "code": 201}  # fmt: skip

    def _delete(self, pod: PodRecord, grace_period_seconds: int | None) -> None:
        store = self._world.store
        if not pod.disruption:
            before = pod.clone()
            pod.disruption = _EVICTED
            store.touch("pods", pod, before)
        store.delete("pods", pod.namespace, pod.name, grace_period_seconds=grace_period_seconds)

    def _spend(self, record: ObjectRecord, pod: PodRecord, *, dry_run: bool) -> None:
        status = self._status(record)  # not the stored one: that may be a moment behind
        if status["disruptionsAllowed"] <= 0 and pod.ready:
            raise errors.eviction_refused(
                record.name, status["desiredHealthy"], status["currentHealthy"]
            )
        if not dry_run and pod.ready:
            status["disruptionsAllowed"] -= 1
            disrupted = {pod.name: rfc3339(self._world.now)}
            status["disruptedPods"] = {**status.get("disruptedPods", {}), **disrupted}
            set_status(self._world, "poddisruptionbudgets", record, status)

    def _status(self, record: ObjectRecord) -> Object:
        spec = record.body["spec"]
        pods = [
            pod
            for pod in self._world.store.records("pods", record.namespace)
            if isinstance(pod, PodRecord)
            and not pod.terminal
            and matches(spec.get("selector"), pod.labels)
        ]
        expected = self._expected(pods)
        healthy = sum(pod.ready and pod.deletion_at is None for pod in pods)
        if "minAvailable" in spec:
            desired = _rounded_up(spec["minAvailable"], expected)
        else:
            desired = max(0, expected - _rounded_up(spec.get("maxUnavailable", 0), expected))
        return {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": max(0, healthy - desired) if expected else 0,
            "observedGeneration": record.generation,
        }

    def _expected(self, pods: list[PodRecord]) -> int:
        """Return what the owners want; pods without a known owner count as they are."""
        wanted: dict[str, int] = {}
        loose = 0
        for pod in pods:
            scale = self._wanted_of(pod)
            if scale is None:
                loose += pod.deletion_at is None
            else:
                wanted[pod.controller_uid() or ""] = scale
        return loose + sum(wanted.values())

    def _wanted_of(self, pod: PodRecord) -> int | None:
        for owner in pod.owners:
            if owner.get("controller") and owner["kind"] == "ReplicaSet":
                record = self._world.store.find("replicasets", pod.namespace, owner["name"])
                if isinstance(record, ObjectRecord):
                    return int(record.body["spec"]["replicas"])
        return None


def _rounded_up(amount: int | str, of: int) -> int:
    if isinstance(amount, str) and amount.endswith("%"):
        return math.ceil(int(amount[:-1]) * of / 100)
    return int(amount)
