"""Which writes selectors are about, and the versions in which rules may name a kind."""

from __future__ import annotations

from twin.kinds import Kind
from twin.records import Object
from twin.selectors import matches
from twin.store import Store
from twin.webhooks.matching import Write, selects_object

Pair = tuple[Object | None, Object | None]
"""The object that is written, and what it replaces."""


def served_versions(store: Store, kind: Kind) -> tuple[str, ...]:
    """Return the versions in which a kind is served, the written one first."""
    if kind.custom is None:
        return (kind.version, *kind.other_versions)
    served = store.custom.versions_of(kind.resource).values()
    return (kind.version, *(each.version for each in served if each.version != kind.version))


def is_selected(store: Store, write: Write, spec: Object, pair: Pair) -> bool:
    """Say whether the namespace and the labels of a write are what `spec` selects."""
    selector = spec.get("namespaceSelector")
    if selector and not _selects_namespace(store, write, selector, pair):
        return False
    return selects_object(spec.get("objectSelector"), *pair)


def _selects_namespace(store: Store, write: Write, selector: Object, pair: Pair) -> bool:
    if write.kind.resource == "namespaces":
        obj = pair[0] or pair[1] or {}
        return matches(selector, (obj.get("metadata") or {}).get("labels") or {})
    if not write.namespace:
        return True
    record = store.find("namespaces", "", write.namespace)
    return record is not None and matches(selector, record.labels)
