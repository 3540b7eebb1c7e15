"""The writes that bind a volume and a claim to each other, and those that part them again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from twin.records import Object, ObjectRecord
from twin.timestamps import rfc3339
from twin.volumes.rules import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONED_BY,
    class_of,
    is_bound_to,
    phase_of,
    spec_of,
)
from twin.world import World

CLAIMS, VOLUMES, CLASSES = "persistentvolumeclaims", "persistentvolumes", "storageclasses"
STORAGE = frozenset({CLAIMS, VOLUMES, CLASSES})
SIMULATED = "foresail.dev/simulated"
"""The provisioner that the twin itself plays: it makes a volume for each claim of its classes."""
_KINDS = {CLAIMS: "PersistentVolumeClaim", VOLUMES: "PersistentVolume"}
_COMPONENT = "persistentvolume-controller"


class Volumes:
    """Volumes, claims and classes of a world, and what is written about them."""

    def __init__(self, world: World) -> None:
        """Look into the store of a world."""
        self._world = world
        self._store = world.store

    # ---- reading

    def claim(self, namespace: str, name: str) -> ObjectRecord | None:
        """Return a claim, None when it is not there."""
        return self._find(CLAIMS, namespace, name)

    def volume(self, name: str) -> ObjectRecord | None:
        """Return a volume, None when it is not there."""
        return self._find(VOLUMES, "", name)

    def class_by_name(self, name: str) -> ObjectRecord | None:
        """Return a StorageClass, None when it is not there."""
        return self._find(CLASSES, "", name)

    def all(self, resource: str) -> Iterator[ObjectRecord]:
        """Yield all claims, volumes or classes, by name."""
        for record in self._store.records(resource):
            if isinstance(record, ObjectRecord):
                yield record

    # ---- writing

    def bind(self, volume: ObjectRecord, claim: ObjectRecord) -> None:
        """Bind both to each other; what is as it should be is left alone."""
        notes, spec = dict(volume.annotations), dict(spec_of(volume))
        if not is_bound_to(volume, claim):
            notes[BOUND_BY_CONTROLLER] = "yes"
        if (spec.get("claimRef") or {}).get("uid") != claim.uid:
            spec["claimRef"] = _reference(claim)
        self.write(VOLUMES, volume, annotations=notes, spec=spec)
        self.set_volume_phase(volume, "Bound")
        notes, spec = dict(claim.annotations), dict(spec_of(claim))
        if spec.get("volumeName") != volume.name:
            spec["volumeName"] = volume.name
            notes.setdefault(BOUND_BY_CONTROLLER, "yes")
        notes.setdefault(BIND_COMPLETED, "yes")
        self.write(CLAIMS, claim, annotations=notes, spec=spec)
        self.set_claim_phase(claim, "Bound", volume)

    def unbind(self, volume: ObjectRecord) -> None:
        """Let a volume be free again; one that was kept for a claim by hand stays kept for it."""
        notes, spec = dict(volume.annotations), dict(spec_of(volume))
        if BOUND_BY_CONTROLLER in notes:
            del notes[BOUND_BY_CONTROLLER], spec["claimRef"]
        else:
            spec["claimRef"] = {k: v for k, v in spec["claimRef"].items() if k != "uid"}
        self.write(VOLUMES, volume, annotations=notes, spec=spec)
        self.set_volume_phase(volume, "Available")

    def set_volume_phase(self, volume: ObjectRecord, phase: str, message: str = "") -> None:
        """Write the phase of a volume, and since when it has it."""
        if phase_of(volume) == phase:
            return
        status: Object = {"phase": phase, "lastPhaseTransitionTime": rfc3339(self._world.now)}
        self.write(VOLUMES, volume, status={**status, **({"message": message} if message else {})})

    def set_claim_phase(
        self, claim: ObjectRecord, phase: str, volume: ObjectRecord | None = None
    ) -> None:
        """Write the phase of a claim, with size and access modes of its volume."""
        status: Object = dict(claim.body.get("status") or {})
        if volume is None:
            for name in ("accessModes", "capacity", "currentVolumeAttributesClassName"):
                status.pop(name, None)
        else:
            spec = spec_of(volume)
            status["accessModes"] = list(spec.get("accessModes") or ())
            if status.get("phase") != phase:
                status["capacity"] = dict(spec.get("capacity") or {})
                if spec.get("volumeAttributesClassName"):
                    status["currentVolumeAttributesClassName"] = spec["volumeAttributesClassName"]
        self.write(CLAIMS, claim, status={**status, "phase": phase})

    def provision(self, claim: ObjectRecord, storage_class: ObjectRecord) -> None:
        """Make the volume of a claim of the simulated provisioner, and bind it."""
        spec, settings = spec_of(claim), storage_class.body
        name = f"pvc-{claim.uid}"
        wanted: Object = {
            "capacity": {"storage": spec["resources"]["requests"]["storage"]},
            "accessModes": list(spec["accessModes"]),
            "volumeMode": spec.get("volumeMode", "Filesystem"),
            "persistentVolumeReclaimPolicy": settings.get("reclaimPolicy", "Delete"),
            "storageClassName": class_of(claim),
            "claimRef": _reference(claim),
            "csi": {"driver": SIMULATED, "volumeHandle": name},
        }
        if settings.get("mountOptions"):
            wanted["mountOptions"] = list(settings["mountOptions"])
        if self.volume(name) is None:
            head = {"name": name, "annotations": {PROVISIONED_BY: SIMULATED}}
            self._store.create(VOLUMES, "", {"metadata": head, "spec": wanted})
            text = f"Successfully provisioned volume {name}"
            self.report(CLAIMS, claim, "ProvisioningSucceeded", text)
        made = self.volume(name)
        if made is not None:
            self.bind(made, claim)

    def write(
        self,
        resource: str,
        record: ObjectRecord,
        *,
        annotations: Mapping[str, str] | None = None,
        finalizers: tuple[str, ...] | None = None,
        spec: Object | None = None,
        status: Object | None = None,
    ) -> None:
        """Write what differs; one whose last finalizer goes while it is being deleted is gone."""
        before = record.clone()
        if annotations is not None and annotations != record.annotations:
            record.annotations = annotations
        if finalizers is not None:
            record.finalizers = finalizers
        for name, part in (("spec", spec), ("status", status)):
            if part is not None and part != record.body.get(name):
                record.body = {**record.body, name: part}
        if record.deletion_at is not None and not record.finalizers:
            self._store.remove(resource, record, before)
        elif record.state() != before.state():
            self._store.touch(resource, record, before)

    def report(
        self, resource: str, record: ObjectRecord, reason: str, text: str, *, warns: bool = False
    ) -> None:
        """Write a KubeEvent about a claim or a volume in the name of the controller."""
        kind = _KINDS[resource]
        self._world.reporter.report(record, kind, reason, text, _COMPONENT, warns=warns)

    def _find(self, resource: str, namespace: str, name: str) -> ObjectRecord | None:
        found = self._store.find(resource, namespace, name)
        return found if isinstance(found, ObjectRecord) else None


def _reference(claim: ObjectRecord) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": claim.namespace,
        "name": claim.name,
        "uid": claim.uid,
        "resourceVersion": str(claim.resource_version),
    }
