"""What the API server adds to new claims and volumes: finalizers, the default class, when the phase began.

Upstream: plugin/pkg/admission/storage/{storageobjectinuseprotection,storageclass/setdefault} and the
strategy of pkg/registry/core/persistentvolume.
"""

from __future__ import annotations

from twin.kinds import Kind
from twin.records import Object, ObjectRecord
from twin.store import Store
from twin.timestamps import rfc3339
from twin.volumes.rules import default_class, has_class

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"
_FINALIZERS = {
    "persistentvolumeclaims": CLAIM_FINALIZER,
    "persistentvolumes": VOLUME_FINALIZER,
}


class VolumeAdmission:
    """The gate of new claims and volumes."""

    def __init__(self, store: Store) -> None:
        """Look classes up in a store."""
        self._store = store

    def prepare(self, kind: Kind, namespace: str, obj: Object) -> None:
        """Protect a new claim or volume, and give a claim without a class the default one."""
        del namespace
        finalizer = _FINALIZERS.get(kind.resource)
        if finalizer is None:
            return
        metadata = obj["metadata"]
        known = list(metadata.get("finalizers") or ())
        metadata["finalizers"] = known if finalizer in known else [*known, finalizer]
        if kind.resource == "persistentvolumes":
            now = rfc3339(self._store.now())
            obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": now}
            return
        obj["status"] = {"phase": "Pending"}
        spec = obj.setdefault("spec", {})
        if not has_class(metadata.get("annotations") or {}, spec):
            name = default_class(
                one
                for one in self._store.records("storageclasses")
                if isinstance(one, ObjectRecord)
            )
            if name is not None:
                spec["storageClassName"] = name

    def charge(
        self, kind: Kind, namespace: str, obj: Object, old: Object | None, *, dry_run: bool
    ) -> None:
        """Let everything pass."""
