"""Who owns which field: `managedFields`, kept as a real server keeps it.

Every write through the API names its manager (`fieldManager`). An Update owns what it added or
changed, and takes that from all other managers. An Apply owns exactly what it states: it may not
change a value that another manager owns (409, unless forced), and what it no longer states is
removed unless another manager owns it. Several managers may own a field while they agree on its
value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from twin.api.field_sets import (
    Difference,
    Path,
    Paths,
    build_trie,
    from_fields,
    merge_given,
    owned_paths,
    path_text,
    remove_paths,
    stated_paths,
    to_fields,
)
from twin.api.schema import Field
from twin.errors import ApiError

Object = dict[str, Any]
Operation = Literal["Apply", "Update"]
KUBECTL = "kubectl"
"""The manager of `kubectl apply --server-side`."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Where `kubectl apply` without --server-side keeps what it applied."""
BEFORE_FIRST_APPLY = "before-first-apply"
"""Owns what stood there before anybody applied: the simulation's own objects name no managers."""
ANCIENT = "ancient-changes"
"""Owns what the oldest of too many updaters owned."""
MOST_UPDATERS = 10
_NOBODYS = frozenset(
    {("f:apiVersion",), ("f:kind",), ("f:metadata",)}
    | {
        ("f:metadata", f"f:{name}")
        for name in ("name", "namespace", "creationTimestamp", "selfLink", "uid", "resourceVersion",
                     "generation", "managedFields", "deletionTimestamp",
                     "deletionGracePeriodSeconds")
    }
)  # fmt: skip
"""Identity and what only the server sets."""
_POD_SPEC = (
    "priority",
    "preemptionPolicy",
    "tolerations",
    "serviceAccount",
    "serviceAccountName",
    "overhead",
)
_SERVICE_SPEC = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "healthCheckNodePort")
_LABELS: Path = ("f:metadata", "f:labels")
_OF_JOBS: tuple[Path, ...] = (_LABELS, ("f:spec", "f:template", *_LABELS))
_CLAIM: Path = ("f:spec", "f:storageClassName")
_PROTECTED: Path = ("f:metadata", "f:finalizers")
_BY_ADMISSION: dict[str, tuple[Path, ...]] = {
    "core.v1.Pod": tuple(("f:spec", f"f:{name}") for name in _POD_SPEC),
    "core.v1.PersistentVolumeClaim": (_CLAIM, _PROTECTED),
    "core.v1.Namespace": (("f:spec", "f:finalizers"),),
    "core.v1.PersistentVolume": (_PROTECTED,),
    "core.v1.Service": tuple(("f:spec", f"f:{name}") for name in _SERVICE_SPEC),
    "batch.v1.Job": (("f:spec", "f:selector"), *_OF_JOBS),
    "networking.v1.Ingress": (("f:spec", "f:ingressClassName"),),
}
"""What admission fills in, after a real server has noted who owns what."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, and how."""

    manager: str
    api_version: str
    at: str
    """Cluster time, RFC 3339."""
    subresource: str = ""
    plain_status: bool = False
    """Whether `status` is written like any other field."""


@dataclass(frozen=True, slots=True)
class Owner:
    """One entry of `managedFields`."""

    manager: str
    operation: Operation
    api_version: str
    subresource: str
    at: str
    paths: Paths

    @property
    def key(self) -> tuple[str, ...]:
        """What distinguishes owners."""
        return (self.manager, self.operation, self.api_version, self.subresource)

    def entry(self) -> Object:
        """Return it as the API shows it."""
        return {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            **({"time": self.at} if self.at else {}),
            "fieldsType": "FieldsV1",
            "fieldsV1": to_fields(self.paths),
            **({"subresource": self.subresource} if self.subresource else {}),
        }


def read_owners(entries: Sequence[Mapping[str, Any]]) -> list[Owner]:
    """Read `managedFields`; raises ValueError for entries that no server wrote."""
    owners = []
    for entry in entries:
        operation = entry.get("operation")
        if operation not in ("Apply", "Update"):
            raise ValueError(f"operation {operation!r}")
        texts = [entry.get(name) or "" for name in ("manager", "apiVersion", "subresource", "time")]
        if not all(isinstance(text, str) for text in texts):
            raise ValueError("manager, apiVersion, subresource and time must be strings")
        manager, api_version, subresource, at = texts
        paths = frozenset(from_fields(entry.get("fieldsV1") or {}))
        owners.append(Owner(manager, operation, api_version, subresource, at, paths))
    return owners


def to_entries(owners: Iterable[Owner]) -> list[Object]:
    """Return `managedFields`: appliers first, then by time."""
    joined = _join_oldest([owner for owner in owners if owner.paths])
    return [
        owner.entry()
        for owner in sorted(joined, key=lambda owner: (owner.operation, owner.at, owner.key))
    ]


def _join_oldest(owners: list[Owner]) -> list[Owner]:
    """Return owners with the oldest updaters as one, so that they do not grow without end.

    A real server does the same: at most ten by Update, `ancient-changes` among them.
    """
    updaters = sorted(
        (owner for owner in owners if owner.operation == "Update"),
        key=lambda owner: (owner.manager != ANCIENT, owner.at, owner.key),
    )
    surplus = updaters[: len(updaters) - MOST_UPDATERS + 1]
    if len(updaters) <= MOST_UPDATERS:
        return owners
    paths: Paths = frozenset().union(*(owner.paths for owner in surplus))
    newest = max(surplus, key=lambda surplu: surplu.at)
    ancient = replace(newest, manager=ANCIENT, subresource="", paths=paths)
    return [*(owner for owner in owners if owner not in surplus), ancient]


def after_update(
    old: Object | None, new: Object, place: Field, writer: Writer, given: Object | None = None
) -> list[Object]:
    """Return `managedFields` after an Update; `new` is what is stored, defaults included, `given` what a client
    sent to create it.

    An object without managers stays so: the simulation's own objects carry no owners.
    """
    stated_fields = new["metadata"].get("managedFields")
    if old is None:
        paths = stated_paths(_changeable_part(new, writer), place) - _NOBODYS
        dropped = _admitted(given or new, place)
        paths = frozenset(path for path in paths if dropped.isdisjoint(_beginnings(path)))
        if place.type == "core.v1.Service":
            paths -= _drawn_ports(given or new, paths)
        return to_entries([_owner(writer, "Update", paths)])
    owners = _starting_owners(old, stated_fields)
    if not owners and not _claimed_owners(old, stated_fields):
        return []
    difference = Difference(_changeable_part(old, writer), _changeable_part(new, writer), place)
    return to_entries(_move_ownership(owners, difference, writer))


def _admitted(given: Object, place: Field) -> Paths:
    """Return the fields of a new object that admission fills in, who creates it owning none, less what is given."""
    paths = _BY_ADMISSION.get(place.type, ())
    return frozenset(path for path in paths if not _holds(given, path))


def _beginnings(path: Path) -> Iterator[Path]:
    return (path[:length] for length in range(1, len(path) + 1))


def _drawn_ports(given: Object, paths: Paths) -> Paths:
    """Return the ports of nodes that a Service was given, unless it asked for one."""
    ports = (given.get("spec") or {}).get("ports") or ()
    if any(port.get("nodePort") for port in ports):
        return frozenset()
    return frozenset(path for path in paths if path[-1] == "f:nodePort")


def _holds(value: Any, path: Path) -> bool:
    for element in path:
        value = value.get(element[2:]) if isinstance(value, dict) else None
    return value is not None


def apply_configuration(
    live: Object, config: Object, place: Field, writer: Writer, *, force: bool
) -> tuple[Object, list[Object]]:
    """Return an object with a configuration applied, and its `managedFields` afterwards.

    Raises:
        ApiError: 409 that names every other owner of a field whose value would change.
    """
    owners = read_owners(live["metadata"].get("managedFields") or ())
    if not owners and live["metadata"].get("uid"):
        paths = stated_paths(live, place) - _NOBODYS
        owners = [replace(_owner(writer, "Update", paths), manager=BEFORE_FIRST_APPLY)]
    mine = _owner(writer, "Apply", frozenset(owned_paths(config, place)) - _NOBODYS)
    earlier = next((owner for owner in owners if owner.key == mine.key), None)
    before = mine.paths if earlier is None else earlier.paths
    others = [owner for owner in owners if owner.key != mine.key]
    result = merge_given(live, config, place)
    result = remove_paths(result, place, build_trie(_dropped_fields(before, mine.paths, others)))
    difference = Difference(live, result, place)
    stated = mine.paths & Difference(live, result, place, nulls=True).changed
    conflicts = _conflicts(others, stated)
    if writer.manager == KUBECTL and conflicts:
        allowed = _client_side_paths(live, place)
        conflicts = [(owner, path) for owner, path in conflicts if path not in allowed]
    if conflicts and not force:
        raise _conflict(conflicts)
    if writer.manager == KUBECTL:
        result = _keep_last_applied(live, config, result)
    left = [replace(other, paths=other.paths - stated - difference.removed) for other in others]
    if not (difference.changed or difference.removed):  # who changes nothing leaves no time
        mine = replace(mine, at="" if earlier is None else earlier.at)
    return result, to_entries([*left, mine])


def _client_side_paths(live: Object, place: Field) -> Paths:
    """Return the fields of kubectl's earlier client-side apply that are unchanged: kubectl takes
    them over without a conflict, as upstream's lastAppliedManager lets it.
    """
    text = (live["metadata"].get("annotations") or {}).get(LAST_APPLIED)
    try:
        last_applied = json.loads(text) if text else {}
        paths = (
            frozenset(owned_paths(last_applied, place))
            if isinstance(last_applied, dict)
            else frozenset()
        )
    except (ValueError, RecursionError, ApiError):
        return frozenset()
    difference = Difference(last_applied, live, place)
    return paths - difference.changed - difference.removed


def _keep_last_applied(live: Object, config: Object, result: Object) -> Object:
    """Keep the annotation of client-side apply in step, so that kubectl can go back to it."""
    if LAST_APPLIED not in (live["metadata"].get("annotations") or {}):
        return result
    text = json.dumps(config, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    metadata = result["metadata"]
    annotations = {**(metadata.get("annotations") or {}), LAST_APPLIED: text}
    return {**result, "metadata": {**metadata, "annotations": annotations}}


def _owner(writer: Writer, operation: Operation, paths: Paths) -> Owner:
    return Owner(
        writer.manager, operation, writer.api_version, writer.subresource, writer.at, paths
    )


def _starting_owners(old: Object, stated_fields: Any) -> list[Owner]:
    """Return the owners that a write starts from: a client may rewrite them, nonsense is ignored."""
    if stated_fields is not None:
        if stated_fields in ([], [{}]):
            return []
        try:
            return read_owners(stated_fields)
        except (ValueError, AttributeError):
            pass
    return read_owners(old["metadata"].get("managedFields") or ())


def _claimed_owners(old: Object, stated_fields: Any) -> bool:
    return bool(old["metadata"].get("managedFields")) and stated_fields not in ([], [{}])


def _changeable_part(obj: Object, writer: Writer) -> Object:
    """Return the part of an object that a write can change."""
    if writer.subresource == "status":
        return {name: value for name, value in obj.items() if name in ("status", "metadata")}
    if writer.plain_status:
        return obj
    return {name: value for name, value in obj.items() if name != "status"}


def _move_ownership(owners: list[Owner], difference: Difference, writer: Writer) -> list[Owner]:
    changed = frozenset(difference.changed) - _NOBODYS
    mine = _owner(writer, "Update", changed)
    others = []
    for owner in owners:
        if owner.key == mine.key:
            paths = (owner.paths | changed) - difference.removed
            mine = replace(owner, paths=paths, at=owner.at if not changed else writer.at)
        else:
            others.append(replace(owner, paths=owner.paths - changed - difference.removed))
    return [*others, mine]


def _dropped_fields(before: Paths, now: Paths, others: Sequence[Owner]) -> list[Path]:
    """Return what an applier no longer states and no other manager owns, in whole or in part."""
    path_prefixes: set[Path] = set()
    for paths in (now, *(owner.paths for owner in others)):
        for path in paths:
            path_prefixes.update(path[:length] for length in range(1, len(path) + 1))
    return sorted(path for path in before if path not in path_prefixes)


def _conflicts(others: Sequence[Owner], changed: Paths) -> list[tuple[Owner, Path]]:
    return [
        (owner, path)
        for owner in sorted(others, key=lambda other: other.key)
        for path in sorted(owner.paths & changed)
    ]


def _conflict(conflicts: Sequence[tuple[Owner, Path]]) -> ApiError:
    causes = [
        {
            "reason": "FieldManagerConflict",
            "message": f"conflict with {_owner_text(owner)}",
            "field": path_text(path),
        }
        for owner, path in conflicts
    ]
    if len(conflicts) == 1:
        text = f"1 conflict: conflict with {_owner_text(conflicts[0][0])}: {path_text(conflicts[0][1])}"
    else:
        by_owner: dict[str, list[str]] = {}
        for owner, path in conflicts:
            by_owner.setdefault(_owner_text(owner), []).append(f"- {path_text(path)}")
        parts = [f"conflicts with {who}:\n" + "\n".join(paths) for who, paths in by_owner.items()]
        text = f"{len(conflicts)} conflicts: " + "\n".join(parts)
    return ApiError(409, "Conflict", f"Apply failed with {text}", {"causes": causes})


def _owner_text(owner: Owner) -> str:
    subresource = f' with subresource "{owner.subresource}"' if owner.subresource else ""
    version = f" using {owner.api_version}" if owner.operation == "Update" else ""
    return f'"{owner.manager}"{subresource}{version}'
