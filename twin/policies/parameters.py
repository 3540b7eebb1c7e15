"""The objects by which a binding fills in the parameters of a policy."""

from __future__ import annotations

from twin.kinds import KINDS, RESOURCES, Kind
from twin.records import Object
from twin.selectors import matches
from twin.store import Store


class BadConfiguration(Exception):
    """A policy or a binding that cannot be followed, and why."""


def kind_of_params(store: Store, param_kind: Object | None) -> Kind | None:
    """Return the kind of a policy's parameters, None without any; raises BadConfiguration."""
    if param_kind is None:
        return None
    group, _, version = param_kind["apiVersion"].rpartition("/")
    resource = RESOURCES.get((group, param_kind["kind"]))
    if resource is not None and version == KINDS[resource].version:
        return KINDS[resource]
    custom = store.custom.resource_of(group, param_kind["kind"])
    found = store.custom.versions_of(custom).values() if custom is not None else ()
    for kind in found:
        if kind.version == version:
            return kind
    named = f"{group}/{version}, Kind={param_kind['kind']}"
    raise BadConfiguration(f"failed to find resource referenced by paramKind: '{named}'")


def params_of(
    store: Store, kind: Kind | None, reference: Object | None, namespace: str
) -> list[Object | None]:
    """Return the parameters of one binding, None for a binding without; raises BadConfiguration."""
    if kind is None or reference is None:
        return [None]
    home = ""
    if kind.namespaced:
        home = reference.get("namespace") or namespace
        if not home:
            why = "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
            raise BadConfiguration(why)
    elif reference.get("namespace"):
        raise BadConfiguration(
            "paramRef.namespace must not be provided for a cluster-scoped `paramKind`"
        )
    found: list[Object | None] = []
    if reference.get("name"):
        if store.find(kind.resource, home, reference["name"]) is not None:
            found = [store.get(kind.resource, home, reference["name"])]
    else:
        found = [
            one
            for one in store.list(kind.resource, home or None)
            if matches(reference.get("selector"), one["metadata"].get("labels") or {})
        ]
    if not found and reference.get("parameterNotFoundAction") == "Deny":
        raise BadConfiguration(
            "no params found for policy binding with `Deny` parameterNotFoundAction"
        )
    return found
