"""Which volume a claim may have: pure functions of a claim, volumes and classes.

Source: kubernetes/kubernetes pkg/controller/volume/persistentvolume (index.go, pv_controller.go) and
staging/src/k8s.io/component-helpers/storage/volume/pv_helpers.go, v1.36.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from inputs.quantities import parse_quantity
from twin.records import Object, ObjectRecord
from twin.selectors import matches

CLASS = "volume.beta.kubernetes.io/storage-class"
DEFAULT_CLASSES = (
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
)
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONERS = (
    "volume.beta.kubernetes.io/storage-provisioner",
    "volume.kubernetes.io/storage-provisioner",
)
"""Annotations that name who is to make a volume for a claim."""
SELECTED_NODE = "volume.kubernetes.io/selected-node"
_ATTRIBUTES = "volumeAttributesClassName"
Reaches = Callable[[ObjectRecord], bool]
"""Says whether a volume can be used where the pod would run."""


def spec_of(record: ObjectRecord) -> Object:
    """Return the spec of a claim or a volume."""
    spec: Object = record.body.get("spec") or {}
    return spec


def phase_of(record: ObjectRecord) -> str:
    """Return the phase in the status of a claim or a volume."""
    return str((record.body.get("status") or {}).get("phase", ""))


def class_of(record: ObjectRecord) -> str:
    """Return the name of the StorageClass of a claim or a volume, empty without one."""
    annotated = record.annotations.get(CLASS)
    return str(
        annotated if annotated is not None else spec_of(record).get("storageClassName") or ""
    )


def has_class(annotations: Mapping[str, str], spec: Object) -> bool:
    """Say whether a claim names a class; the empty name is one, too."""
    return CLASS in annotations or spec.get("storageClassName") is not None


def is_default_class(record: ObjectRecord) -> bool:
    """Say whether a StorageClass is marked as the default one."""
    return any(record.annotations.get(name) == "true" for name in DEFAULT_CLASSES)


def default_class(classes: Iterable[ObjectRecord]) -> str | None:
    """Return the name of the newest default StorageClass, the first by name of equally old ones."""
    marked = [(-int(one.created_at), one.name) for one in classes if is_default_class(one)]
    return min(marked)[1] if marked else None


def waits_for_consumer(storage_class: ObjectRecord | None) -> bool:
    """Say whether claims of a class are bound only when a pod that uses them is scheduled."""
    mode = None if storage_class is None else storage_class.body.get("volumeBindingMode")
    return mode == "WaitForFirstConsumer"


def is_bound_to(volume: ObjectRecord, claim: ObjectRecord) -> bool:
    """Say whether a volume is kept for a claim, by name and, where it is said, by uid."""
    reference = spec_of(volume).get("claimRef")
    if not reference:
        return False
    named = (reference.get("namespace"), reference.get("name")) == (claim.namespace, claim.name)
    return named and reference.get("uid") in (None, "", claim.uid)


def is_fully_bound(claim: ObjectRecord) -> bool:
    """Say whether the binding of a claim has been completed."""
    return bool(spec_of(claim).get("volumeName")) and BIND_COMPLETED in claim.annotations


def requested_size(claim: ObjectRecord) -> Decimal:
    """Return the bytes that a claim asks for."""
    return _size((spec_of(claim).get("resources") or {}).get("requests"))


def volume_size(volume: ObjectRecord) -> Decimal:
    """Return the bytes that a volume has."""
    return _size(spec_of(volume).get("capacity"))


def why_unsuitable(volume: ObjectRecord, claim: ObjectRecord) -> str:
    """Return why a volume that a claim names is not for it, in the controller's words, or nothing."""
    if volume.deletion_at is not None:
        return f'the volume is marked for deletion "{volume.name}"'
    if volume_size(volume) < requested_size(claim):
        return "requested PV is too small"
    if class_of(volume) != class_of(claim):
        return "storageClassName does not match"
    if _attributes(volume) != _attributes(claim):
        return "volumeAttributesClassName does not match"
    if not has_same_mode(volume, claim):
        return "incompatible volumeMode"
    return "" if _modes(claim) <= _modes(volume) else "incompatible accessMode"


def has_same_mode(volume: ObjectRecord, claim: ObjectRecord) -> bool:
    """Say whether a volume is a file system, or a block device, as the claim wants it."""
    return _mode(volume) == _mode(claim)


def best_volume(
    claim: ObjectRecord, volumes: Iterable[ObjectRecord], *, delayed: bool
) -> ObjectRecord | None:
    """Return the volume that the controller binds to a claim, None without one.

    The smallest of those with the fewest access modes. A `delayed` claim gets only a volume that
    is kept for it: its pod's node decides on others.
    """
    wanted = _modes(claim)
    by_modes: dict[tuple[int, tuple[str, ...]], list[ObjectRecord]] = {}
    for volume in volumes:
        if wanted <= (modes := _modes(volume)):
            by_modes.setdefault((len(modes), tuple(sorted(modes))), []).append(volume)
    for key in sorted(by_modes):
        found = _matching(claim, by_modes[key], delayed=delayed, reaches=None)
        if found is not None:
            return found
    return None


def volume_on_node(
    claim: ObjectRecord, volumes: Iterable[ObjectRecord], reaches: Reaches
) -> ObjectRecord | None:
    """Return the smallest volume for a claim whose pod is to run where `reaches` says."""
    wanted = _modes(claim)
    usable = [volume for volume in volumes if wanted <= _modes(volume)]
    return _matching(claim, usable, delayed=False, reaches=reaches)


def _matching(
    claim: ObjectRecord, volumes: Iterable[ObjectRecord], *, delayed: bool, reaches: Reaches | None
) -> ObjectRecord | None:
    size, name = requested_size(claim), class_of(claim)
    selector = spec_of(claim).get("selector")
    best: ObjectRecord | None = None
    for volume in volumes:
        kept_for_it = is_bound_to(volume, claim)
        if (
            (spec_of(volume).get("claimRef") and not kept_for_it)
            or volume_size(volume) < size
            or not has_same_mode(volume, claim)
            or _attributes(volume) != _attributes(claim)
            or volume.deletion_at is not None
        ):
            continue
        reached = reaches is None or reaches(volume)
        if kept_for_it:
            return volume if reached else None
        if delayed or phase_of(volume) != "Available" or class_of(volume) != name or not reached:
            continue
        if selector is not None and not matches(selector, volume.labels):
            continue
        if best is None or volume_size(volume) < volume_size(best):
            best = volume
    return best


def claim_names(pod_name: str, spec: Object) -> list[str]:
    """Return the names of the claims that a pod uses, those of its ephemeral volumes included."""
    names = []
    for volume in spec.get("volumes") or ():
        if volume.get("persistentVolumeClaim"):
            names.append(str(volume["persistentVolumeClaim"].get("claimName", "")))
        elif volume.get("ephemeral"):
            names.append(ephemeral_name(pod_name, volume))
    return names


def ephemeral_name(pod_name: str, volume: Object) -> str:
    """Return the name of the claim that is made for an ephemeral volume of a pod."""
    return f"{pod_name}-{volume['name']}"


def is_for_pod(claim: ObjectRecord, pod_uid: str) -> bool:
    """Say whether a claim was made for the ephemeral volume of this pod."""
    return claim.controller_uid() == pod_uid


def _size(amounts: Any) -> Decimal:
    return parse_quantity((amounts or {}).get("storage", "0"))


def _modes(record: ObjectRecord) -> frozenset[str]:
    return frozenset(spec_of(record).get("accessModes") or ())


def _mode(record: ObjectRecord) -> str:
    return str(spec_of(record).get("volumeMode") or "Filesystem")


def _attributes(record: ObjectRecord) -> str:
    return str(spec_of(record).get(_ATTRIBUTES) or "")
