"""The controllers of volumes: binding, ephemeral volumes, and the protection of what is in use.

What kube-controller-manager looks at again every 15 seconds is looked at here as soon as something
changes that could help. A volume with the policy Recycle is free again without a pod that empties it.
Source: kubernetes/kubernetes pkg/controller/volume/{persistentvolume,ephemeral,pvcprotection,pvprotection}.
"""

from __future__ import annotations

from collections.abc import Iterator

from twin.changes import Change
from twin.controllers.loop import ControllerLoop
from twin.errors import ApiError
from twin.records import Object, ObjectRecord, PodRecord
from twin.volumes.admission import CLAIM_FINALIZER, VOLUME_FINALIZER
from twin.volumes.binding import CLAIMS, CLASSES, SIMULATED, VOLUMES, Volumes
from twin.volumes.reclaiming import reclaim
from twin.volumes.rules import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    PROVISIONERS,
    SELECTED_NODE,
    best_volume,
    claim_names,
    class_of,
    default_class,
    ephemeral_name,
    has_class,
    has_same_mode,
    is_bound_to,
    is_for_pod,
    is_fully_bound,
    phase_of,
    spec_of,
    waits_for_consumer,
    why_unsuitable,
)
from twin.world import World

_NO_PLUGIN = "no volume plugin matched name: "
_LOST = "Data on the volume is lost!"


class VolumeControllers:
    """Brings claims and volumes to what they should be; keeps nothing of its own."""

    def __init__(self, world: World, loop: ControllerLoop) -> None:
        """Write through the store of a world."""
        self._world = world
        self._loop = loop
        self._volumes = Volumes(world)

    # ---- what it hears

    def follow(self, change: Change) -> None:
        """Note the claims for which a change of a claim, a volume or a class matters."""
        resource, record = change.resource, change.record
        if not isinstance(record, ObjectRecord):
            return
        if resource == CLAIMS and change.type == "DELETED":
            for volume in self._volumes.all(VOLUMES):
                if is_bound_to(volume, record):
                    self._loop.note(VOLUMES, "", volume.name)
        elif resource == VOLUMES and change.type == "DELETED":
            for claim in self._volumes.all(CLAIMS):
                if spec_of(claim).get("volumeName") == record.name:
                    self._loop.note(CLAIMS, claim.namespace, claim.name)
        elif resource in (VOLUMES, CLASSES):
            for claim in self._volumes.all(CLAIMS):
                if not is_fully_bound(claim):
                    self._loop.note(CLAIMS, claim.namespace, claim.name)

    def follow_pod(self, change: Change) -> None:
        """Note the claims of a pod that came, was bound, ended or went."""
        pod = change.record
        assert isinstance(pod, PodRecord)
        before = change.before
        if (
            change.type == "MODIFIED"
            and isinstance(before, PodRecord)
            and (before.node_name, before.terminal, before.deletion_at)
            == (pod.node_name, pod.terminal, pod.deletion_at)
        ):
            return
        if any(volume.get("ephemeral") for volume in pod.shape.spec["volumes"]):
            self._loop.note("pods", pod.namespace, pod.name)
        for name in claim_names(pod.name, pod.shape.spec):
            self._loop.note(CLAIMS, pod.namespace, name)

    # ---- claims

    def reconcile_pod(self, namespace: str, name: str) -> bool:
        """Make the claims of a pod's ephemeral volumes; False when one was refused."""
        pod = self._world.store.find("pods", namespace, name)
        if not isinstance(pod, PodRecord) or pod.deletion_at is not None or pod.terminal:
            return True
        owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": pod.uid,
                 "controller": True, "blockOwnerDeletion": True}  # fmt: skip
        for volume in pod.shape.spec.get("volumes") or ():
            template = (volume.get("ephemeral") or {}).get("volumeClaimTemplate")
            if not template:
                continue
            claim = ephemeral_name(pod.name, volume)
            if self._volumes.claim(namespace, claim) is not None:
                continue
            given = template.get("metadata") or {}
            head: Object = {"name": claim, "ownerReferences": [owner]}
            head |= {field: given[field] for field in ("labels", "annotations") if field in given}
            try:
                self._world.store.create(
                    CLAIMS, namespace, {"metadata": head, "spec": template["spec"]}
                )
            except ApiError:
                return False
        return True

    def reconcile_claim(self, namespace: str, name: str) -> None:
        """Bind a claim, say why it cannot be, or let it go."""
        claim = self._volumes.claim(namespace, name)
        if claim is None:
            return
        leaves = claim.deletion_at is not None and CLAIM_FINALIZER in claim.finalizers
        if leaves and not any(self._uses(pod, claim) for pod in self._pods_with(claim)):
            rest = tuple(one for one in claim.finalizers if one != CLAIM_FINALIZER)
            self._volumes.write(CLAIMS, claim, finalizers=rest)
            return
        if BIND_COMPLETED in claim.annotations:
            self._check_bound(claim)
        elif spec_of(claim).get("volumeName"):
            self._bind_named(claim)
        else:
            self._bind_any(claim)

    def _check_bound(self, claim: ObjectRecord) -> None:
        name = spec_of(claim).get("volumeName")
        volume = self._volumes.volume(name) if name else None
        if volume is None:
            what = "its PersistentVolume" if name else "reference to PersistentVolume"
            self._lose(claim, "ClaimLost", f"Bound claim has lost {what}. {_LOST}")
        elif not spec_of(volume).get("claimRef") or is_bound_to(volume, claim):
            self._volumes.bind(volume, claim)
        else:
            text = "Two claims are bound to the same volume, this one is bound incorrectly"
            self._lose(claim, "ClaimMisbound", text)

    def _lose(self, claim: ObjectRecord, reason: str, text: str) -> None:
        if phase_of(claim) != "Lost":
            self._volumes.set_claim_phase(claim, "Lost")
            self._volumes.report(CLAIMS, claim, reason, text, warns=True)

    def _bind_named(self, claim: ObjectRecord) -> None:
        volume = self._volumes.volume(spec_of(claim)["volumeName"])
        if volume is None:
            self._volumes.set_claim_phase(claim, "Pending")
            return
        if not spec_of(volume).get("claimRef"):
            why = why_unsuitable(volume, claim)
            if not why:
                self._volumes.bind(volume, claim)
                return
            text = f'Cannot bind to requested volume "{volume.name}": {why}'
            self._volumes.report(CLAIMS, claim, "VolumeMismatch", text, warns=True)
        elif is_bound_to(volume, claim):
            self._volumes.bind(volume, claim)
            return
        else:
            text = f'volume "{volume.name}" already bound to a different claim.'
            self._volumes.report(CLAIMS, claim, "FailedBinding", text, warns=True)
            if BOUND_BY_CONTROLLER in claim.annotations:
                return
        self._volumes.set_claim_phase(claim, "Pending")

    def _bind_any(self, claim: ObjectRecord) -> None:
        storage_class = self._volumes.class_by_name(class_of(claim))
        delayed = waits_for_consumer(storage_class)
        volume = best_volume(claim, self._volumes.all(VOLUMES), delayed=delayed)
        if volume is not None:
            self._volumes.bind(volume, claim)
        elif not self._take_default_class(claim):
            if delayed and SELECTED_NODE not in claim.annotations:
                self._tell_whom_it_waits_for(claim)
            elif class_of(claim):
                self._provision(claim, storage_class)
                return
            else:
                text = "no persistent volumes available for this claim and no storage class is set"
                self._volumes.report(CLAIMS, claim, "FailedBinding", text)
            self._volumes.set_claim_phase(claim, "Pending")

    def _take_default_class(self, claim: ObjectRecord) -> bool:
        if has_class(claim.annotations, spec_of(claim)):
            return False
        name = default_class(self._volumes.all(CLASSES))
        if name is None:
            return False
        self._volumes.write(CLAIMS, claim, spec={**spec_of(claim), "storageClassName": name})
        return True

    def _tell_whom_it_waits_for(self, claim: ObjectRecord) -> None:
        waiting = [
            pod.name for pod in self._pods_with(claim) if not pod.terminal and not pod.node_name
        ]
        reason, text = (
            "WaitForFirstConsumer",
            "waiting for first consumer to be created before binding",
        )
        if waiting:
            pods = f"pods {','.join(waiting)}" if len(waiting) > 1 else f"pod {waiting[0]}"
            reason, text = "WaitForPodScheduled", f"waiting for {pods} to be scheduled"
        self._volumes.report(CLAIMS, claim, reason, text)

    def _provision(self, claim: ObjectRecord, storage_class: ObjectRecord | None) -> None:
        if storage_class is None:
            text = f'storageclass.storage.k8s.io "{class_of(claim)}" not found'
            self._volumes.report(CLAIMS, claim, "ProvisioningFailed", text, warns=True)
            return
        name = str(storage_class.body.get("provisioner", ""))
        if name.startswith("kubernetes.io/"):
            self._volumes.report(
                CLAIMS, claim, "ProvisioningFailed", f"{_NO_PLUGIN}{name}", warns=True
            )
            return
        notes = {**claim.annotations, **dict.fromkeys(PROVISIONERS, name)}
        self._volumes.write(CLAIMS, claim, annotations=notes)
        if name == SIMULATED:
            self._volumes.provision(claim, storage_class)
            return
        text = (
            f"Waiting for a volume to be created either by the external provisioner '{name}' or "
            "manually by the system administrator. If volume creation is delayed, please verify "
            "that the provisioner is running and correctly registered."
        )
        self._volumes.report(CLAIMS, claim, "ExternalProvisioning", text)

    # ---- volumes

    def reconcile_volume(self, _: str, name: str) -> None:
        """Bring the phase of a volume to what it is bound to; reclaim it, or let it go."""
        volume = self._volumes.volume(name)
        if volume is None:
            return
        leaves = volume.deletion_at is not None and VOLUME_FINALIZER in volume.finalizers
        if leaves and phase_of(volume) != "Bound":
            rest = tuple(one for one in volume.finalizers if one != VOLUME_FINALIZER)
            self._volumes.write(VOLUMES, volume, finalizers=rest)
            return
        reference = spec_of(volume).get("claimRef") or {}
        if not reference.get("uid"):
            self._volumes.set_volume_phase(volume, "Available")
            return
        claim = self._volumes.claim(reference.get("namespace", ""), reference.get("name", ""))
        if claim is None or claim.uid != reference["uid"]:
            if phase_of(volume) not in ("Released", "Failed"):
                self._volumes.set_volume_phase(volume, "Released")
            reclaim(self._world, self._volumes, volume)
        elif not spec_of(claim).get("volumeName"):
            self._rebind(volume, claim)
        elif spec_of(claim)["volumeName"] == volume.name:
            self._volumes.set_volume_phase(volume, "Bound")
        else:
            self._volumes.unbind(volume)

    def _rebind(self, volume: ObjectRecord, claim: ObjectRecord) -> None:
        if has_same_mode(volume, claim):
            self._loop.note(CLAIMS, claim.namespace, claim.name)
            return
        why = "due to incompatible volumeMode."
        text = (
            f'Cannot bind PersistentVolume to requested PersistentVolumeClaim "{claim.name}" {why}'
        )
        self._volumes.report(VOLUMES, volume, "VolumeMismatch", text, warns=True)
        text = (
            f'Cannot bind PersistentVolume "{volume.name}" to requested PersistentVolumeClaim {why}'
        )
        self._volumes.report(CLAIMS, claim, "VolumeMismatch", text, warns=True)

    # ---- pods

    def _pods_with(self, claim: ObjectRecord) -> Iterator[PodRecord]:
        for pod in self._world.store.records("pods", claim.namespace):
            if isinstance(pod, PodRecord) and claim.name in claim_names(pod.name, pod.shape.spec):
                yield pod

    def _uses(self, pod: PodRecord, claim: ObjectRecord) -> bool:
        """Say whether a pod keeps a claim from going: from when it is bound until it is gone."""
        if not pod.node_name:
            return False
        volumes = pod.shape.spec.get("volumes") or ()
        named = [volume.get("persistentVolumeClaim") or {} for volume in volumes]
        if any(one.get("claimName") == claim.name for one in named):
            return True
        shut_down = pod.deletion_at is not None and pod.deletion_grace_seconds == 0
        return not shut_down and is_for_pod(claim, pod.uid)
