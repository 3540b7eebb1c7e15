"""What a write has to say, and how much it may be, by the kind that it is about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Protocol

from twin.api.access import Attributes
from twin.api.bodies import (
    ClientObject,
    check_object,
    check_stated_type,
    most_values,
    require_map,
)
from twin.api.go_json import go_text, header_error
from twin.api.json_patch import unknown_members
from twin.api.limits import MOST_STORED_VALUES
from twin.api.messages import Object, Request, json_bytes
from twin.api.patching import STRATEGIC
from twin.api.schema.go_words import WrongType
from twin.errors import ApiError, bad_request, invalid, invalid_metadata
from twin.kinds import Kind

MADE_BY_PUT = frozenset(
    {
        *("leases", "events", "endpoints", "services", "limitranges", "runtimeclasses"),
        *("roles", "rolebindings", "clusterroles", "clusterrolebindings"),
    }
)
"""Resources that a PUT of an absent object creates, as on a real server."""


_VERSIONED = frozenset(
    {
        *("customresourcedefinitions", "apiservices", "leases", "poddisruptionbudgets"),
        *("validatingwebhookconfigurations", "mutatingwebhookconfigurations"),
        *("validatingadmissionpolicies", "validatingadmissionpolicybindings"),
        *("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"),
        *("runtimeclasses", "csidrivers", "csinodes", "csistoragecapacities", "volumeattachments"),
    }
)
"""Built-in resources that are not replaced without a version, as on a real server."""

MOST_SHOWN = 20_000
"""Characters of a patched object that a refusal repeats."""
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


SIGNED = "certificatesigningrequests"
_SIGNING = f"/apis/certificates.k8s.io/v1/{SIGNED}"


def keeps_requester(request: Request) -> bool:
    """Say whether who sends a request is part of what it makes."""
    return request.method in ("POST", "PATCH") and request.path.startswith(_SIGNING)


def wants_version(kind: Kind) -> bool:
    """Say whether a PUT has to name the version that it knows."""
    return kind.custom is not None or kind.resource in _VERSIONED


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


def check_patched(obj: Any, kind: Kind, request: Request, patch: Any = None) -> ClientObject:
    """Return what a patch led to; raises ApiError 422 when that is no object of its kind."""
    strategic = request.headers.get("content-type", "").startswith(STRATEGIC)
    try:
        if why := header_error(b"", obj, readable=True):
            raise bad_request(why)
        if strategic:
            obj = {**obj, "apiVersion": kind.api_version, "kind": kind.kind}
        elif kind.custom is None and not obj.get("apiVersion"):
            obj = {}  # nothing of it is read, so it has no name
        else:
            check_stated_type(obj, kind)
        return _with_steps(check_object(obj, kind, request), patch, request)
    except ApiError as error:
        if error.status != 400:
            raise
        why = error.message.partition(f"cannot be handled as a {kind.kind}: ")[2] or error.message
        if strategic:
            why = error.converted if isinstance(error, WrongType) else why
            shown = go_text(patch)
        else:
            shown = json_bytes(_in_order(obj, patch)).decode()
        shown = shown[:MOST_SHOWN]
        why = f"Invalid value: {json_bytes(shown).decode()}: {why}"
        raise invalid("", "", "", [("patch", why)]) from error


def _with_steps(found: ClientObject, patch: Any, request: Request) -> ClientObject:
    """Return what a patch led to, with warnings of members that no step has; raises ApiError 400."""
    unknown = unknown_members(patch)
    mode = request.query.get("fieldValidation") or "Warn"
    if unknown and mode == "Strict":
        raise bad_request(f"strict decoding error: {', '.join(unknown)}")
    if mode != "Warn":
        return found
    return replace(found, warnings=(*unknown, *found.warnings))


def _in_order(obj: Any, patch: Any) -> Any:
    """Return an object as Go writes it after a patch: what was patched has its members in order."""
    if not isinstance(obj, dict):
        return obj
    inner = patch if isinstance(patch, dict) else {}
    return {
        name: _in_order(value, inner[name]) if isinstance(inner.get(name), dict) else value
        for name, value in sorted(obj.items())
    }


def require_creation(kind: Kind, namespace: str, name: str, request: Request) -> None:
    """Raise ApiError 403 when who replaces or applies what is not there may not create it."""
    if request.requester is not None:
        wanted = Attributes("create", kind.group, kind.resource, "", namespace, name)
        request.requester.require(wanted)


def without_version(obj: Object) -> Object:
    """Return an object as a dry creation shows it."""
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    return {**obj, "metadata": metadata}


def naming_requester(kind: Kind, obj: Object, request: Request) -> Object:
    """Return a new object; a CertificateSigningRequest names who asks, and nobody where that is not known."""
    if kind.resource != SIGNED:
        return obj
    spec = dict(require_map(obj, "spec"))
    for field in ("username", "uid", "groups", "extra"):
        spec.pop(field, None)
    user = None if request.hearing is None else request.hearing.user
    if user is not None:
        spec |= {"username": user.name, "groups": list(user.groups)}
        spec |= {"uid": user.uid} if user.uid else {}
        extra = {key: list(values) for key, values in user.extra}
        spec |= {"extra": extra} if extra else {}
    return {**obj, "spec": spec}
