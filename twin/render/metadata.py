"""`metadata` of any record."""

from __future__ import annotations

from twin.records import Object, Record
from twin.timestamps import rfc3339


def render_metadata(record: Record) -> Object:
    """Return ObjectMeta; empty fields are left out as the API server does."""
    metadata: Object = {"name": record.name}
    if record.namespace:
        metadata["namespace"] = record.namespace
    metadata["uid"] = record.uid
    metadata["resourceVersion"] = str(record.resource_version)
    metadata["creationTimestamp"] = rfc3339(record.created_at)
    if record.labels:
        metadata["labels"] = record.labels
    if record.annotations:
        metadata["annotations"] = record.annotations
    if record.owners:
        metadata["ownerReferences"] = list(record.owners)
    if record.finalizers:
        metadata["finalizers"] = list(record.finalizers)
    if record.managed:
        metadata["managedFields"] = list(record.managed)
    if record.deletion_at is not None:
        metadata["deletionTimestamp"] = rfc3339(record.deletion_at)
        if record.deletion_grace_seconds is not None:
            metadata["deletionGracePeriodSeconds"] = record.deletion_grace_seconds
    return metadata
