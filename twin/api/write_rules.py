"""What a write has to say, and how much it may be, by the kind that it is about."""

from __future__ import annotations

from twin.api.bodies import most_values
from twin.api.limits import MOST_STORED_VALUES
from twin.api.messages import Object
from twin.errors import invalid
from twin.kinds import Kind

MADE_BY_PUT = frozenset(
    {
        *("leases", "events", "endpoints"),
        *("roles", "rolebindings", "clusterroles", "clusterrolebindings"),
    }
)
"""Resources that a PUT of an absent object creates, as on a real server."""


SHOWN_WHEN_GONE = frozenset(
    {
        "pods",
        "services",
        "namespaces",
        "resourcequotas",
        "serviceaccounts",
        "persistentvolumeclaims",
        "persistentvolumes",
        "customresourcedefinitions",
    }
)
"""Resources whose deletion answers with the object, as on a real server; others with a Status."""


def require_version(kind: Kind, name: str, obj: Object) -> None:
    """Raise ApiError 422 for a PUT that does not say of which version it knows."""
    if not obj["metadata"].get("resourceVersion"):
        why = "Invalid value: 0: must be specified for an update"
        raise invalid(kind.plural, kind.group, name, [("metadata.resourceVersion", why)])


def most_stored_values(kind: Kind) -> int:
    """Return how many values a stored object of a kind may hold."""
    return max(MOST_STORED_VALUES, most_values(kind))


def status_is_plain(kind: Kind) -> bool:
    """Say whether `status` of a custom resource is a field like any other."""
    return kind.custom is not None and not kind.custom.has_status


def check_same_uid(kind: Kind, current: Object, patched: Object) -> None:
    """Raise ApiError 422 for a patch of another object's uid; an old version is a conflict first."""
    before, after = current["metadata"], patched["metadata"]
    same_version = after.get("resourceVersion") in {None, "", before["resourceVersion"]}
    if same_version and after.get("uid", before["uid"]) != before["uid"]:
        why = f'Invalid value: "{after["uid"]}": field is immutable'
        raise invalid(kind.kind, kind.group, before["name"], [("metadata.uid", why)])


def is_place(kind: Kind, namespace: str | None) -> bool:
    """Say whether objects can be written by a path; all namespaces together can only be read."""
    return namespace is not None or not kind.namespaced
