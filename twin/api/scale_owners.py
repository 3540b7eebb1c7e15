"""Who owns the replicas of a workload that is scaled by its Scale, as a real server keeps it.

An owner of `spec.replicas` is shown to those who apply a Scale as one of autoscaling/v1; who applied one is an
owner of that field in the workload's own version, without a time.
"""

from __future__ import annotations

from dataclasses import replace

from twin.api.messages import Object
from twin.api.ownership import Owner, Writer, apply_configuration, read_owners, to_entries
from twin.api.schema import ANY
from twin.kinds import Kind

Path = tuple[str, ...]
SCALE_VERSION = "autoscaling/v1"
_IN_SCALE: Path = ("f:spec", "f:replicas")


def scale_writer(kind: Kind, manager: str) -> Writer:
    """Return who applies the Scale of an object."""
    del kind
    return Writer(manager, SCALE_VERSION, "", "scale")


def apply_scale(
    obj: Object, kind: Kind, config: Object, writer: Writer, *, force: bool
) -> tuple[int, list[Object]]:
    """Return the replicas and the object's `managedFields` after a Scale was applied; raises ApiError 409."""
    path = _path_of(kind)
    owners = read_owners(obj["metadata"].get("managedFields") or ())
    shown = [
        replace(owner, api_version=SCALE_VERSION, paths=frozenset({_IN_SCALE}))
        for owner in owners
        if path in owner.paths
    ]
    spec = {"replicas": _at(obj, path)}
    metadata = {"name": obj["metadata"]["name"], "uid": "", "managedFields": to_entries(shown)}
    live = {"metadata": metadata, "spec": spec}
    wanted = {"spec": config.get("spec") or {}}
    result, managed = apply_configuration(live, wanted, ANY, writer, force=force)
    left = {owner.key[:2] + owner.key[3:] for owner in read_owners(managed)}
    kept = []
    for owner in owners:
        lost = path in owner.paths and owner.key[:2] + owner.key[3:] not in left
        kept.append(replace(owner, paths=owner.paths - {path}) if lost else owner)
        left.discard(owner.key[:2] + owner.key[3:])
    version = kind.api_version
    kept += [
        replace(owner, api_version=version, paths=frozenset({path}), at="")
        for owner in read_owners(managed)
        if owner.key[:2] + owner.key[3:] in left and _IN_SCALE in owner.paths
    ]
    return int((result.get("spec") or {}).get("replicas", 0)), to_entries(kept)


def owners_after_scaling(
    obj: Object, kind: Kind, replicas: int, manager: str
) -> list[Object] | None:
    """Return the `managedFields` of an object whose Scale was written; None where nothing changes."""
    path = _path_of(kind)
    if _at(obj, path) == replicas:
        return None
    mine = Owner(manager, "Update", kind.api_version, "scale", "", frozenset({path}))
    owners = [
        replace(owner, paths=owner.paths - {path})
        for owner in read_owners(obj["metadata"].get("managedFields") or ())
        if owner.key != mine.key
    ]
    return to_entries([*owners, mine] if replicas else owners)  # a Scale leaves out none


def _path_of(kind: Kind) -> Path:
    """Return where a kind has its replicas."""
    paths = None if kind.custom is None else kind.custom.scale
    names = (".spec.replicas" if paths is None else paths["specReplicasPath"]).strip(".").split(".")
    return tuple(f"f:{name}" for name in names)


def _at(obj: Object, path: Path) -> int:
    value: object = obj
    for element in path:
        value = value.get(element[2:]) if isinstance(value, dict) else None
    return value if isinstance(value, int) else 0
