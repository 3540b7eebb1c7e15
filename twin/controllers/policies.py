"""The status of ValidatingAdmissionPolicies: which generation has been looked at. Types are not checked."""

from __future__ import annotations

from twin.controllers.pods_of import set_status
from twin.records import ObjectRecord
from twin.world import World

POLICIES = "validatingadmissionpolicies"


class PolicyStatus:
    """Reconciles validatingadmissionpolicies."""

    def __init__(self, world: World) -> None:
        """Write through the store of a world."""
        self._world = world

    def reconcile(self, _: str, name: str) -> None:
        """Write what has been observed."""
        record = self._world.store.find(POLICIES, "", name)
        if isinstance(record, ObjectRecord) and record.deletion_at is None:
            known = record.body.get("status") or {}
            status = {**known, "observedGeneration": record.generation, "typeChecking": {}}
            set_status(self._world, POLICIES, record, status)
