"""PodDisruptionBudgets: their status, and the evictions that they allow.

Sources: kubernetes/kubernetes pkg/controller/disruption/disruption.go (status, disruptedPods) and
pkg/registry/core/pod/storage/eviction.go (what an eviction is answered).
Guarantee: an eviction that is let through leaves at least `desiredHealthy` ready pods, those
excepted that the budget's policy gives up.
"""

from __future__ import annotations

import math

from twin import errors
from twin.controllers.budget_scale import Unscalable, expected_replicas
from twin.controllers.conditions import set_condition
from twin.controllers.loop import ControllerLoop
from twin.controllers.pods_of import report, set_status
from twin.controllers.rollout import part_of
from twin.records import Object, ObjectRecord, PodRecord
from twin.selectors import matches, selector_in_go
from twin.timestamps import rfc3339, unix
from twin.world import World

_RESOURCE = "poddisruptionbudgets"
_EVICTED = "EvictionByEvictionAPI"
_ALLOWED = "DisruptionAllowed"
_NOTHING_COUNTED: Object = {"currentHealthy": 0, "desiredHealthy": 0, "expectedPods": 0}


class Budgets:
    """Reconciles poddisruptionbudgets and answers evictions."""

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        self._world = world
        self._loop = loop

    def covering(self, pod: PodRecord) -> list[ObjectRecord]:
        """Return the budgets that select `pod`; an empty selector selects nothing here."""
        if not self._world.store.count(_RESOURCE):
            return []
        return [
            record
            for record in self._world.store.records(_RESOURCE, pod.namespace)
            if isinstance(record, ObjectRecord)
            and record.body["spec"].get("selector")
            and matches(record.body["spec"]["selector"], pod.labels)
        ]

    def reconcile(self, namespace: str, name: str) -> None:
        """Write the status of one budget."""
        record = self._world.store.find(_RESOURCE, namespace, name)
        if isinstance(record, ObjectRecord):
            if not self._pods(record):
                report(self._world, _RESOURCE, record, "NoPods", "No matching pods found")
            set_status(self._world, _RESOURCE, record, self._status_or_failure(record))

    def evict(
        self,
        namespace: str,
        name: str,
        *,
        dry_run: bool = False,
        uid: str | None = None,
        resource_version: str | None = None,
        grace_period_seconds: int | None = None,
    ) -> Object:
        """Delete a pod if its budget allows it; returns a Success Status.

        Pods that are pending, over or being deleted need no budget. Raises ApiError 404, 409
        (another uid or version), 429 with the budget's numbers, or 500 when several budgets select
        the pod, as the real API does.
        """
        pod = self._world.store.record("pods", namespace, name)
        assert isinstance(pod, PodRecord)
        _check_preconditions(pod, uid, resource_version)
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
        """Take one disruption from the budget; raises ApiError 429 when there is none."""
        try:
            status = self._status(record, tell=False)  # the stored one may be a moment behind
        except Unscalable as failure:
            status = self._failed_status(record, failure)
        if not pod.ready and _gives_up_unhealthy(record, status):
            return
        if status["disruptionsAllowed"] <= 0:
            raise errors.eviction_refused(
                record.name, status["desiredHealthy"], status["currentHealthy"]
            )
        if dry_run:
            return
        now = rfc3339(self._world.now)
        allowed = status["disruptionsAllowed"] - 1
        status["disruptionsAllowed"] = allowed
        status["disruptedPods"] = {**status.get("disruptedPods", {}), pod.name: now}
        status["conditions"] = self._conditions(record, status)
        set_status(self._world, _RESOURCE, record, status)
        self._recheck(record)

    # ---- status

    def _status_or_failure(self, record: ObjectRecord) -> Object:
        """Return the status, or the one before without a disruption when what owners want is not known."""
        try:
            return self._status(record, tell=True)
        except Unscalable as failure:
            text = f"Failed to calculate the number of expected pods: {failure}"
            report(self._world, _RESOURCE, record, "CalculateExpectedPodCountFailed", text)
            return self._failed_status(record, failure)

    def _failed_status(self, record: ObjectRecord, failure: Unscalable) -> Object:
        status = dict(record.body.get("status") or _NOTHING_COUNTED)
        status["disruptionsAllowed"] = 0
        known, now = status.get("conditions") or [], rfc3339(self._world.now)
        fresh = set_condition(known, _ALLOWED, "False", "SyncFailed", str(failure), now)
        observed = status.get("observedGeneration")
        seen = {} if observed is None else {"observedGeneration": observed}
        status["conditions"] = [{**entry, **seen} for entry in fresh]
        return status

    def _status(self, record: ObjectRecord, *, tell: bool) -> Object:
        pods = self._pods(record)
        expected, desired = self._expected_and_needed(record, pods, tell=tell)
        disrupted = self._granted_evictions(record, pods, tell=tell)
        healthy = sum(
            pod.ready and pod.deletion_at is None and pod.name not in disrupted for pod in pods
        )
        status: Object = {
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
            "disruptionsAllowed": max(0, healthy - desired) if expected > 0 else 0,
            "observedGeneration": record.generation,
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        status["conditions"] = self._conditions(record, status)
        return status

    def _pods(self, record: ObjectRecord) -> list[PodRecord]:
        selector = record.body["spec"].get("selector")
        return self._world.select_pods(record.namespace, selector)

    def _conditions(self, record: ObjectRecord, status: Object) -> list[Object]:
        known = (record.body.get("status") or {}).get("conditions") or []
        truth = status["disruptionsAllowed"] > 0
        reason = "SufficientPods" if truth else "InsufficientPods"
        now = rfc3339(self._world.now)
        fresh = set_condition(known, _ALLOWED, str(truth), reason, "", now)
        return [{**entry, "observedGeneration": record.generation} for entry in fresh]

    def _expected_and_needed(
        self, record: ObjectRecord, pods: list[PodRecord], *, tell: bool
    ) -> tuple[int, int]:
        """Return (expected pods, healthy pods that must stay)."""
        spec = record.body["spec"]
        least = spec.get("minAvailable")
        if isinstance(least, int):
            return len(pods), least
        expected = self._expected_pods(record, pods, tell=tell)
        if least is not None:
            return expected, math.ceil(part_of(least, expected))
        most = math.ceil(part_of(spec.get("maxUnavailable", 0), expected))
        return expected, max(0, expected - most)

    def _expected_pods(self, record: ObjectRecord, pods: list[PodRecord], *, tell: bool) -> int:
        """Return what the owners want; pods without an owner do not count. Raises Unscalable."""
        expected, unmanaged = expected_replicas(self._world.store, pods)
        if unmanaged and tell:
            selector = selector_in_go(record.body["spec"].get("selector"))
            text = (
                f"Pods selected by this PodDisruptionBudget (selector: {selector}) were found to be unmanaged. As a "
                "result, the status of the PDB cannot be calculated correctly, which may result in "
                'undefined behavior. To account for these pods please set ".spec.minAvailable" '
                "field of the PDB to an integer value."
            )
            report(self._world, _RESOURCE, record, "UnmanagedPods", text)
        return expected

    def _granted_evictions(
        self, record: ObjectRecord, pods: list[PodRecord], *, tell: bool
    ) -> dict[str, str]:
        """Return evictions that were granted and whose pod is not being deleted yet."""
        known = (record.body.get("status") or {}).get("disruptedPods") or {}
        if not known:
            return {}
        standing = {pod.name: pod for pod in pods if pod.deletion_at is None}
        kept = {}
        for name, at in known.items():
            if name not in standing:
                continue
            if unix(at) + self._timeout <= self._world.now:
                if tell:
                    self._tell_not_deleted(record, standing[name])
                continue
            kept[name] = at
        return kept

    def _tell_not_deleted(self, record: ObjectRecord, pod: PodRecord) -> None:
        """Say of a pod that it was not deleted; upstream names the namespace twice, and not the budget."""
        text = f"Pod was expected by PDB {record.namespace}/{record.namespace} to be deleted but it wasn't"
        self._world.reporter.report(pod, "Pod", "NotDeleted", text, "controllermanager")

    @property
    def _timeout(self) -> float:
        return self._world.config.controllers.disruption_timeout_seconds

    def _recheck(self, record: ObjectRecord) -> None:
        wait = self._timeout + 1.0
        self._loop.note_later(wait, _RESOURCE, record.namespace, record.name)


def _gives_up_unhealthy(record: ObjectRecord, status: Object) -> bool:
    """True when a pod that is not ready may go without spending (unhealthyPodEvictionPolicy)."""
    if record.body["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    desired = status["desiredHealthy"]
    return bool(status["currentHealthy"] >= desired > 0)


def _check_preconditions(pod: PodRecord, uid: str | None, resource_version: str | None) -> None:
    if uid is not None and uid != pod.uid:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({pod.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict("Pod", pod.name, why)
    if resource_version is not None and resource_version != str(pod.resource_version):
        why = (
            f"the ResourceVersion in the precondition ({resource_version}) does not match the "
            f"ResourceVersion in record ({pod.resource_version}). The object might have been "
            "modified"
        )
        raise errors.conflict("Pod", pod.name, why)
