"""Who set a field of an object, from its `metadata.managedFields`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lab.explanations.frozen_cluster import Object, unix_seconds


@dataclass(frozen=True, slots=True)
class FieldOwner:
    """One manager that set a field."""

    manager: str
    operation: str
    """Apply or Update."""
    time_seconds: float | None
    """Unix seconds of its newest write to the object; None where the entry has no time."""


def owners_of(obj: Object, path: Sequence[str]) -> tuple[FieldOwner, ...]:
    """Return the managers of a field, the newest first.

    Args:
        obj: an object as an API server gives it.
        path: keys of fieldsV1, such as ("f:spec", "f:replicas"); see `container_key`.
    """
    found = [
        FieldOwner(
            str(entry.get("manager") or ""),
            str(entry.get("operation") or ""),
            unix_seconds(entry.get("time")),
        )
        for entry in obj["metadata"].get("managedFields") or ()
        if not entry.get("subresource") and _holds(entry.get("fieldsV1") or {}, path)
    ]
    return tuple(sorted(found, key=lambda owner: -(owner.time_seconds or 0.0)))


def container_key(name: str) -> str:
    """Return the fieldsV1 key of a container in its list."""
    return f'k:{{"name":"{name}"}}'


def _holds(fields: Object, path: Sequence[str]) -> bool:
    """Say whether an entry has the field, or one that holds it as a whole."""
    for key in path:
        if not fields:
            return True  # an atomic parent, owned whole
        if key not in fields:
            return False
        fields = fields[key]
    return True
