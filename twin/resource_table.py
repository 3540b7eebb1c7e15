"""The records of one resource, in order, and the log of their changes."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from typing import Any

from twin.changes import ChangeLog
from twin.kinds import Kind
from twin.records import Record

Key = tuple[str, str]
Dependents = dict[str, dict[tuple[str, Key], Record]]
"""Records by the uid of any owner, then by resource and key."""


def index_owners(dependents: Dependents, resource: str, record: Record, key: Key) -> None:
    """Note a record below each of its owners; `key` is one that others hold as well."""
    for owner in record.owners:
        dependents.setdefault(owner["uid"], {})[resource, key] = record


def unindex_owners(dependents: Dependents, resource: str, record: Record) -> None:
    """Take back what `index_owners` noted."""
    for owner in record.owners:
        siblings = dependents.get(owner["uid"], {})
        siblings.pop((resource, record.key), None)
        if not siblings:
            dependents.pop(owner["uid"], None)


class ResourceTable:
    """The records of one resource, by (namespace, name) and in that order."""

    def __init__(self, kind: Kind, log_size: int) -> None:
        self.kind = kind
        self.versions: Mapping[str, Kind] = {}
        self.records: dict[Key, Record] = {}
        self.keys: list[Key] = []
        self.log = ChangeLog(log_size)

    def kind_of(self, obj: Mapping[str, Any]) -> Kind:
        """Return the kind in the version that an object is written in; that of the shelf is kept."""
        return self.versions.get(obj.get("apiVersion", ""), self.kind)

    def kept_form(self, obj: dict[str, Any]) -> dict[str, Any]:
        """Return an object in the version that is kept, where more than its name differs."""
        custom = self.kind_of(obj).custom
        if custom is None or custom.to_kept is None:
            return obj
        return custom.to_kept(obj)

    def put(self, record: Record) -> Key:
        """Add a new record; return its key, so that others can hold the same one."""
        key = record.key
        self.records[key] = record
        insort(self.keys, key)
        return key

    def drop(self, record: Record) -> None:
        """Remove a record."""
        del self.records[record.key]
        del self.keys[bisect_left(self.keys, record.key)]

    def fill(self, records: dict[Key, Record]) -> None:
        """Hold these records instead of what was there."""
        self.records = records
        self.keys = sorted(records)
