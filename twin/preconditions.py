"""What a write presupposes: a namespace that takes objects, and the version that was read."""

from __future__ import annotations

from typing import TypedDict

from twin import errors
from twin.identity import Find
from twin.kinds import Kind
from twin.records import Object, Record


class DeleteOptions(TypedDict, total=False):
    """How an object is deleted; every option may be left out."""

    uid: str | None
    resource_version: str | None
    grace_period_seconds: int | None
    propagation: str | None
    """Background, Foreground or Orphan."""
    dry_run: bool
    announced: bool
    """Whether watchers see a pod that goes at once with its marks first, as an API server shows it."""


def set_namespace(kind: Kind, namespace: str, metadata: Object, find: Find) -> None:
    """Set where a new object goes; raises ApiError 400, 403 or 404 when it cannot."""
    if not kind.namespaced:
        metadata.pop("namespace", None)
        return
    given = metadata.setdefault("namespace", namespace)
    if given != namespace:
        raise errors.bad_request(
            f"the namespace of the provided object does not match the namespace sent on the "
            f"request: {given} != {namespace}"
        )
    home = find("namespaces", "", namespace)
    if home is None:
        raise errors.not_found("namespaces", namespace)
    if home.deletion_at is not None:
        why = f"unable to create new content in namespace {namespace} because it is being "
        error = errors.forbidden(
            kind.resource, str(metadata.get("name", "")), f"{why}terminated", group=kind.group
        )
        message = f"namespace {namespace} is being terminated"
        cause = {
            "reason": "NamespaceTerminating",
            "message": message,
            "field": "metadata.namespace",
        }
        error.details["causes"] = [cause]
        raise error


def check_written(kind: Kind, record: Record, metadata: Object, *, dry_run: bool = False) -> None:
    """As `check_version`, for an update: version 0 stands for any; raises ApiError 500 for no number."""
    version = str(metadata.get("resourceVersion") or "0")
    if not (version.isascii() and version.isdecimal()):
        raise errors.ApiError(500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')
    wanted = {"resourceVersion": "" if int(version) == 0 else version, "uid": metadata.get("uid")}
    check_version(kind, record, wanted, dry_run=dry_run)


def check_deletion(kind: Kind, record: Record, uid: str | None, version: str | None) -> None:
    """Raise ApiError 409 when a deletion is meant for another uid or version than the current one."""
    if uid and uid != record.uid:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({record.uid}). "
            "The object might have been deleted and then recreated"
        )
        raise errors.conflict(kind.kind, record.name, why, group=kind.group)
    if version and str(version) != str(record.resource_version):
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion "
            f"in record ({record.resource_version}). The object might have been modified"
        )
        raise errors.conflict(kind.kind, record.name, why, group=kind.group)


def check_version(kind: Kind, record: Record, wanted: Object, *, dry_run: bool = False) -> None:
    """Raise ApiError 409 when a write names another uid or version than the current one."""
    version, uid = wanted.get("resourceVersion"), wanted.get("uid")
    if uid and uid != record.uid:
        raise other_object(kind, record, uid, dry_run=dry_run)
    if version and str(version) != str(record.resource_version):
        why = (
            "the object has been modified; please apply your changes to the latest version "
            "and try again"
        )
        raise errors.conflict(kind.resource, record.name, why, group=kind.group)


def other_object(kind: Kind, record: Record, uid: str, *, dry_run: bool = False) -> errors.ApiError:
    """409 of a write that is about another object of that name."""
    why = (
        f"StorageError: invalid object, Code: 4, Key: {_storage_key(kind, record, dry_run=dry_run)}, "
        f"ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, "
        f"UID in object meta: {record.uid}"
    )
    return errors.conflict(kind.resource, record.name, why, group=kind.group)


_STORED_AS = {"nodes": "minions", "services": "services/specs", "endpoints": "services/endpoints"}
"""Where a real server keeps resources, if not under their own names."""


def _storage_key(kind: Kind, record: Record, *, dry_run: bool) -> str:
    """Return where a real server keeps an object, or would: its refusals show it."""
    group = f"{kind.group}/" if "." in kind.group and not kind.group.endswith(".k8s.io") else ""
    place = f"{group}{_STORED_AS.get(kind.resource, kind.plural)}"
    root = "" if dry_run else "/registry"
    return f"{root}/" + "/".join(filter(None, (place, record.namespace, record.name)))
