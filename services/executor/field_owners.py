"""Whose fields an operation would write, by what the API server notes of each writer.

Who applies an object (Server-Side Apply: Argo CD, Flux, Helm 4, `kubectl apply --server-side`) says the whole of what
it wants, again and again. A patch of ours on one of its fields goes through, takes the field away from it, and the
next apply ends with a conflict. So such fields are left alone, and so are those that Argo CD writes without it
(`Update`, its default): it compares again and again, and sets back what differs. Fields that somebody else merely wrote
once are anybody's to change, as they always were.
Source: Kubernetes, "Server-Side Apply" (field management, conflicts); Argo CD, "Automated Sync Policy" (self-heal).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from schemas.outcome import Operation, Verb
from services.executor.reach import AppliedField
from services.kube_objects import FIELD_MANAGER, KubeStruct

Path = tuple[str, ...]
"""Steps into `fieldsV1`, such as `f:spec`, `f:replicas`."""
_TAINTS: Path = ("f:spec", "f:taints")
_REPLICAS: Path = ("f:spec", "f:replicas")
RECONCILERS = ("argocd-",)
"""What managers begin with that compare and write again without applying: `argocd-controller`."""
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
"""Annotation with the manifest, which Argo CD writes as kubectl does."""
WITHOUT_FIELDS = frozenset({Verb.CREATE, Verb.DELETE, Verb.EVICT, Verb.RUN})
"""Verbs that write no field of an object that is there."""


class FieldOwner(KubeStruct, frozen=True):
    """metadata.managedFields[]."""

    manager: str = ""
    operation: str = ""
    fields_v1: dict[str, Any] = {}


class _OwnedMeta(KubeStruct, frozen=True):
    managed_fields: tuple[FieldOwner, ...] = ()
    annotations: dict[str, str] = {}


class OwnedObject(KubeStruct, frozen=True):
    """Any object, with who wrote its fields."""

    metadata: _OwnedMeta = _OwnedMeta()


def applied_fields(found: OwnedObject, operation: Operation) -> tuple[AppliedField, ...]:
    """Return the fields that an operation would write and that somebody else applies."""
    others = [one for one in found.metadata.managed_fields if one.manager != FIELD_MANAGER]
    applied = found.metadata.annotations.get(LAST_APPLIED)
    return tuple(
        AppliedField(manager=owner.manager, field=_text(path))
        for path in written_fields(operation)
        for owner in others
        if _owns(owner.fields_v1, path)
        and (
            owner.operation == "Apply"
            or (owner.manager.startswith(RECONCILERS) and _says(applied, path))
        )
    )


def _says(applied: str | None, path: Path) -> bool:
    """Say whether a manifest has a field; one that is not known has it. Defaults are the creator's in managedFields."""
    try:
        value = None if applied is None else json.loads(applied)
    except (ValueError, RecursionError):
        return True
    if not isinstance(value, dict):
        return True
    for step in path:
        if not isinstance(value, dict):
            return True  # a list, of which only managedFields tell whose entries are whose
        name = step.removeprefix("f:")
        if name not in value:
            return False
        value = value[name]
    return True


def written_fields(operation: Operation) -> Sequence[Path]:
    """Return the fields that an operation sets or removes."""
    if operation.verb in WITHOUT_FIELDS:
        return ()
    if operation.verb is Verb.TAINT:
        return (_TAINTS,)
    if operation.verb is Verb.SCALE:
        return (_REPLICAS,)
    return tuple(_leaves(json.loads(operation.patch), ()))


def _leaves(value: Any, path: Path) -> Iterator[Path]:
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            yield from _leaves(inner, (*path, f"f:{name}"))
    elif (
        isinstance(value, list)
        and value
        and all(isinstance(one, Mapping) and "name" in one for one in value)
    ):
        for one in value:  # of a strategic merge patch: containers, by their names
            key = "k:" + json.dumps({"name": one["name"]}, separators=(",", ":"))
            others = {name: inner for name, inner in one.items() if name != "name"}
            yield from _leaves(others, (*path, key))
    else:
        yield path


def _owns(fields: Mapping[str, Any], path: Path) -> bool:
    """Say whether a field, or one that holds it as a whole, is among those of an owner."""
    for step in path:
        inner = fields.get(step)
        if inner is None:
            return False
        if not inner:
            return True
        fields = inner
    return True


def _text(path: Path) -> str:
    """Return a path as people write it: `spec.replicas`, `spec.containers[main].resources`."""
    words = ""
    for step in path:
        kind, _, name = step.partition(":")
        words += f"[{json.loads(name)['name']}]" if kind == "k" else f".{name}"
    return words.removeprefix(".")
