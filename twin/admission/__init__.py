"""What the API server does to an object before it is stored: defaults, then validation.

A refusal is an ApiError (422 with the field paths, 403, 404); nothing here writes to the store.
"""

from __future__ import annotations

from twin import errors
from twin.admission import kinds, metadata, pods, resizing, services, workloads
from twin.admission.custom import definitions
from twin.admission.custom import objects as custom_objects
from twin.admission.deletion import GRACEFUL, is_waited_for, mark_deleted
from twin.admission.ephemeral import check_ephemeral
from twin.admission.findings import Findings
from twin.admission.pod_fields import check_of_pod
from twin.admission.pod_parts import default_parts
from twin.copying import copy_object
from twin.definitions.registry import DEFINITIONS
from twin.kinds import Kind
from twin.part_writes import writes_metadata
from twin.records import Object


def admit_new(kind: Kind, obj: Object, *, spec_known: bool = False) -> None:
    """Default and check an object in place before its creation; a `spec_known` to be sound is left
    alone.
    """
    if kind.custom is not None:
        custom_objects.admit(kind, obj, None, None)
        return
    findings = Findings()
    metadata.check(obj["metadata"], findings, kind.resource)
    _check_type(kind, obj)
    if kind.resource == "pods":
        if not spec_known:
            pods.admit(obj.setdefault("spec", {}), findings, "spec")
            check_of_pod(obj["spec"], findings)
        obj.pop("status", None)
    else:
        kinds.admit(kind.resource, obj, findings)
        if kind.resource == DEFINITIONS:
            definitions.begin_status(obj)
    findings.raise_if_any(kind, obj["metadata"].get("name", ""))


_CHECKS = {
    "poddisruptionbudgets": 2,
    **dict.fromkeys(("configmaps", "secrets", "serviceaccounts", "endpoints", "pods", "jobs"), 4),
    **dict.fromkeys(("persistentvolumeclaims", "persistentvolumes", "ingresses", "nodes"), 4),
    **dict.fromkeys(("ipaddresses", "ingressclasses", "csistoragecapacities", "resourceclaims"), 4),
    **dict.fromkeys(("roles", "rolebindings", "clusterroles", "clusterrolebindings"), 4),
    **dict.fromkeys(("runtimeclasses", "storageclasses", "deviceclasses", "namespaces"), 4),
    "controllerrevisions": 4,
}
"""How often a real server checks labels and annotations of an update, where it is not three times."""


def admit_change(kind: Kind, old: Object, new: Object, subresource: str | None) -> None:
    """Default and check a full object in place before it replaces `old`."""
    if kind.custom is not None:
        custom_objects.admit(kind, new, old, subresource)
        return
    findings = Findings()
    _check_type(kind, new)
    head = new.setdefault("metadata", {})
    metadata.check_unchanged(old["metadata"], head, findings)
    findings.repeat(2)
    if subresource is None:
        metadata.check(head, findings, kind.resource)
        findings.repeat(_CHECKS.get(kind.resource, 3))
        if kind.resource == "pods":
            pods.keep_resolved(old["spec"], new.setdefault("spec", {}))
            pods.admit(new["spec"], findings, "spec")
            pods.check_unchanged(old["spec"], new["spec"], findings)
        else:
            if kind.resource == "services":
                services.carry_over(old, new)
            kinds.admit(kind.resource, new, findings)
            if kind.resource == "daemonsets":
                workloads.count_template(old, new)
            kinds.check_unchanged(kind.resource, old, new, findings)
    elif subresource == "ephemeralcontainers":
        default_parts(new["spec"])
        check_ephemeral(old, new, findings)
    elif subresource == "status":
        if writes_metadata(kind.resource, subresource):
            metadata.check(head, findings, kind.resource)
        kinds.check_status(kind.resource, old, new, findings)
    elif subresource == "resize":
        pods.keep_resolved(old["spec"], new.setdefault("spec", {}))
        pods.admit(new["spec"], findings, "spec")
        resizing.check_resize(old, new, findings)
    findings.raise_if_any(kind, old["metadata"]["name"])


def as_defined(
    definition: Kind | None, obj: Object, old: Object | None, subresource: str | None
) -> Object:
    """Return an object of a kind of the simulation's own as somebody's definition of it has it; raises ApiError 422.

    Its fields, defaults and rules are then those of the definition. Without one it is returned as it is.
    """
    if definition is None:
        return obj
    defined: Object = copy_object(obj)
    custom_objects.admit_pruned(definition, defined, old, subresource)
    return defined


def _check_type(kind: Kind, obj: Object) -> None:
    stated_type = (obj.get("apiVersion", kind.api_version), obj.get("kind", kind.kind))
    if stated_type != (kind.api_version, kind.kind):
        raise errors.bad_request(
            f"{stated_type[1]} in version {stated_type[0]!r} cannot be handled as a {kind.kind} "
            f"({kind.api_version})"
        )


def check_qos(kind: Kind, name: str, before: str, after: str) -> None:
    """Raise ApiError 422 when a resize would change the quality of service."""
    findings = Findings()
    resizing.check_qos(before, after, findings)
    findings.raise_if_any(kind, name)


__all__ = [
    "GRACEFUL",
    "admit_change",
    "admit_new",
    "as_defined",
    "check_qos",
    "is_waited_for",
    "mark_deleted",
]
