"""Whose fields an operation would write, by what the API server notes of each writer.

Who applies an object (Server-Side Apply: Argo CD, Flux, Helm 4, `kubectl apply --server-side`) says the whole of what
it wants, again and again. A patch of ours on one of its fields goes through, takes the field away from it, and the
next apply ends with a conflict. So such fields are left alone. Fields that somebody merely wrote once (`Update`) are
anybody's to change, as they always were.
Source: Kubernetes, "Server-Side Apply" (field management, conflicts).
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
WITHOUT_FIELDS = frozenset({Verb.CREATE, Verb.DELETE, Verb.EVICT, Verb.RUN})
"""Verbs that write no field of an object that is there."""


class FieldOwner(KubeStruct, frozen=True):
    """metadata.managedFields[]."""

    manager: str = ""
    operation: str = ""
    fields_v1: dict[str, Any] = {}


class _OwnedMeta(KubeStruct, frozen=True):
    managed_fields: tuple[FieldOwner, ...] = ()


class OwnedObject(KubeStruct, frozen=True):
    """Any object, with who wrote its fields."""

    metadata: _OwnedMeta = _OwnedMeta()


def applied_fields(found: OwnedObject, operation: Operation) -> tuple[AppliedField, ...]:
    """Return the fields that an operation would write and that somebody else applies."""
    owners = [
        owner
        for owner in found.metadata.managed_fields
        if owner.operation == "Apply" and owner.manager != FIELD_MANAGER
    ]
    if not owners:
        return ()
    return tuple(
        AppliedField(manager=owner.manager, field=_text(path))
        for path in written_fields(operation)
        for owner in owners
        if _owns(owner.fields_v1, path)
    )


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
