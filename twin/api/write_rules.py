"""What a write has to say, and how much it may be, by the kind that it is about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from twin.api.access import Attributes
from twin.api.bodies import (
    ClientObject,
    check_object,
    check_stated_type,
    most_values,
    require_map,
)
from twin.api.limits import MOST_STORED_VALUES
from twin.api.messages import Object, Request, json_bytes
from twin.api.patching import SHOWN
from twin.errors import ApiError, bad_request, invalid, invalid_metadata
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
        "podtemplates",
        *("resourceclaims", "resourceclaimtemplates", "resourceslices", "deviceclasses"),
        *("storageclasses", "csidrivers", "csinodes", "volumeattachments"),
        "customresourcedefinitions",
    }
)
"""Resources whose deletion answers with the object, as on a real server; others with a Status."""


class Version(Protocol):
    """Another version of a kind than the one in which it is kept."""

    @property
    def shown(self) -> Kind:
        """The kind in this version."""
        ...

    @property
    def convert(self) -> Callable[[Object], Object]:
        """From the kept version to this one."""
        ...

    @property
    def back(self) -> Callable[[Object], Object]:
        """From this version to the kept one."""
        ...


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
        raise invalid_metadata(kind, before["name"], [("metadata.uid", why)])


def as_written(kind: Kind, subresource: str, obj: Object, new: Object) -> Object:
    """Return the answer to a write.

    Who writes a pod's status sees it as written. Its kubelet writes its own again, on a real cluster within ten
    seconds, here at once.
    """
    if kind.resource != "pods" or subresource != "status":
        return new
    status = {**new["status"], **(obj.get("status") or {})}
    timeless = {"lastProbeTime": None, "lastTransitionTime": None}
    if status.get("conditions"):
        status["conditions"] = [{**timeless, **condition} for condition in status["conditions"]]
    return {**new, "status": status}


def is_place(kind: Kind, namespace: str | None) -> bool:
    """Say whether objects can be written by a path; all namespaces together can only be read."""
    return namespace is not None or not kind.namespaced


def drop_namespace(kind: Kind, obj: Object) -> None:
    """Take away the namespace of an object that is in none."""
    if not kind.namespaced and isinstance(obj.get("metadata"), dict):
        obj["metadata"].pop("namespace", None)


def check_named(obj: Object, name: str) -> None:
    """Raise ApiError 400 when an object does not say its name."""
    if not require_map(obj, "metadata").get("name"):
        raise bad_request(
            f"the name of the object ({name} based on URL) was undeterminable: name must be "
            "provided"
        )


def check_patched(obj: Any, kind: Kind, request: Request) -> ClientObject:
    """Return what a patch led to; raises ApiError 422 when that is no object of its kind."""
    try:
        check_stated_type(obj, kind)
        return check_object(obj, kind, request)
    except ApiError as error:
        if error.status != 400:
            raise
        shown = json_bytes(obj).decode()[:SHOWN]
        why = f"Invalid value: {json_bytes(shown).decode()}: {error.message}"
        raise invalid("", "", "", [("patch", why)]) from error


def require_creation(kind: Kind, namespace: str, name: str, request: Request) -> None:
    """Raise ApiError 403 when who replaces or applies what is not there may not create it."""
    if request.requester is not None:
        wanted = Attributes("create", kind.group, kind.resource, "", namespace, name)
        request.requester.require(wanted)
