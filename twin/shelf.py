"""The records of one resource, in order, and the log of their changes."""

from __future__ import annotations

from bisect import bisect_left, insort

from twin.changes import ChangeLog
from twin.kinds import Kind
from twin.records import Record

Key = tuple[str, str]


class Shelf:
    """The records of one resource, by (namespace, name) and in that order."""

    def __init__(self, kind: Kind, log_size: int) -> None:
        self.kind = kind
        self.records: dict[Key, Record] = {}
        self.keys: list[Key] = []
        self.log = ChangeLog(log_size)

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
