"""The records of one resource as they were at one version, whatever is written later.

Problem: a list that is read page by page, or sent while the cluster changes, has to show one
moment. Guarantee: the pages of a snapshot hold each object of that version once, in order of
(namespace, name), as it was then; what happened since is undone by the clones that changes keep.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping
from heapq import merge
from typing import Protocol

from twin.changes import Change
from twin.records import Record

Key = tuple[str, str]


class Shown(Protocol):
    """What a snapshot reads: the live records of a resource and their keys in order."""

    records: dict[Key, Record]
    keys: list[Key]


class ResourceSnapshot:
    """A resource, whole or in one namespace, at one version."""

    def __init__(
        self, live: Shown, namespace: str | None, version: int, since: Iterable[Change]
    ) -> None:
        """Show `live` as it was before the changes `since` that version."""
        self._live = live
        self._namespace = namespace
        self.version = version
        self._earlier: dict[Key, Record | None] = {}  # None: was not there yet
        for change in since:
            self.follow(change)

    def follow(self, change: Change) -> None:
        """Take note of a change of this resource; each has to be followed, in order."""
        self._earlier.setdefault(change.record.key, change.before)

    def batch(self, after: Key | None, most: int) -> list[Record]:
        """Return at most so many records behind `after`; read them before the store changes."""
        low, high = self._bounds(after)
        live, earlier = self._live.records, self._earlier
        if not earlier:  # nothing has changed since, as for nearly every list
            return [live[key] for key in self._live.keys[low : min(high, low + most)]]
        records: list[Record] = []
        for key in self._keys(low, high, after):
            record = earlier[key] if key in earlier else live[key]
            if record is not None:
                records.append(record)
                if len(records) == most:
                    break
        return records

    def count(self, after: Key | None) -> int:
        """Return how many records there are behind `after`."""
        low, high = self._bounds(after)
        live = self._live.records
        later = [
            key
            for key, record in self._earlier.items()
            if record is None and key in live and self._within(key, after)
        ]
        return high - low - len(later) + len(self._removed_keys(after))

    def _keys(self, low: int, high: int, after: Key | None) -> Iterator[Key]:
        keys = self._live.keys
        walk = (keys[place] for place in range(low, high))
        removed_keys = self._removed_keys(after)
        return merge(walk, removed_keys) if removed_keys else walk

    def _bounds(self, after: Key | None) -> tuple[int, int]:
        keys, namespace = self._live.keys, self._namespace
        low = 0 if namespace is None else bisect_left(keys, (namespace, ""))
        high = len(keys) if namespace is None else bisect_left(keys, (f"{namespace}\0", ""))
        return (low if after is None else max(low, bisect_right(keys, after))), high

    def _removed_keys(self, after: Key | None) -> list[Key]:
        live: Mapping[Key, Record] = self._live.records
        return sorted(
            key
            for key, record in self._earlier.items()
            if record is not None and key not in live and self._within(key, after)
        )

    def _within(self, key: Key, after: Key | None) -> bool:
        inside = self._namespace is None or key[0] == self._namespace
        return inside and (after is None or key > after)
