"""What a delete request does to a record: gone at once, or marked first."""

from __future__ import annotations

from twin.errors import bad_request, forbidden
from twin.records import ObjectRecord, PodRecord, Record

GRACEFUL = ("pods", "namespaces")
"""Resources whose removal is finished by a kubelet or a controller."""
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
"""Finalizer of a definition whose objects are being deleted."""
_IMMORTAL = ("default", "kube-system", "kube-public")  # NamespaceLifecycle's own list
_PROPAGATIONS: dict[str, tuple[str, ...]] = {
    "Background": (),
    "Foreground": ("foregroundDeletion",),
    "Orphan": ("orphan",),
}
_OF_POLICIES = ("foregroundDeletion", "orphan")


def mark_deleted(
    resource: str,
    record: Record,
    now: float,
    grace_period_seconds: int | None,
    propagation: str | None,
) -> bool:
    """Mark `record` as deleted; True when it is to be removed at once.

    A second delete may shorten a pod's grace, never lengthen it. Raises ApiError 400 for an unknown
    propagation policy, 403 for a namespace that every cluster needs.
    """
    if propagation not in (None, *_PROPAGATIONS):
        raise bad_request(f"unknown propagationPolicy {propagation!r}")
    if grace_period_seconds is not None and grace_period_seconds < 0:
        grace_period_seconds = 1  # as the API server reads it
    if resource == "namespaces" and record.name in _IMMORTAL:
        raise forbidden(resource, record.name, "this namespace may not be deleted")
    if resource != "pods":
        return _mark_object(resource, record, now, propagation)
    assert isinstance(record, PodRecord)
    grace = record.shape.grace_seconds if grace_period_seconds is None else grace_period_seconds
    at_once = not record.node_name or record.terminal or grace == 0
    if at_once:
        grace = 0
    if record.deletion_at is None or now + grace < record.deletion_at:
        record.generation += record.deletion_at is None
        record.deletion_at = now + grace
        record.deletion_grace_seconds = grace
    return at_once and not record.finalizers


def _mark_object(resource: str, record: Record, now: float, policy: str | None) -> bool:
    """Mark an object, and let a policy that is stated replace the one of an earlier request."""
    if policy is not None:
        others = tuple(each for each in record.finalizers if each not in _OF_POLICIES)
        record.finalizers = (*others, *_PROPAGATIONS[policy])
    if record.deletion_at is not None:
        return resource not in GRACEFUL and not record.finalizers
    if resource == "customresourcedefinitions" and CLEANUP not in record.finalizers:
        record.finalizers = (*record.finalizers, CLEANUP)
    if resource not in GRACEFUL and not record.finalizers:
        return True
    record.deletion_at = now
    plain = resource in ("namespaces", "customresourcedefinitions")  # strategies of their own
    record.deletion_grace_seconds = None if plain else 0
    if isinstance(record, ObjectRecord) and record.generation and not plain:
        record.generation += 1
    if resource == "namespaces" and isinstance(record, ObjectRecord):
        status = {**(record.body.get("status") or {}), "phase": "Terminating"}
        record.body = {**record.body, "status": status}
    return False


def is_waited_for(home: Record) -> bool:
    """True when a namespace's spec names somebody who waits for it to be empty."""
    return isinstance(home, ObjectRecord) and bool((home.body.get("spec") or {}).get("finalizers"))
