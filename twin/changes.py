"""The bounded log of changes that watches resume from.

Each change keeps a clone of its record (about 0.3 kB for a pod), not JSON; the object is rendered
when it is read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from twin.errors import gone_error
from twin.records import Object, Record
from twin.render import render

ChangeType = Literal["ADDED", "MODIFIED", "DELETED"]


@dataclass(slots=True)
class Change:
    """One committed change. `object` is as it was right after it (DELETED: with the last state).

    `before` is the record as it was right before, None when the object is new: with it a selecting
    watch turns MODIFIED into ADDED or DELETED, and an older version can be shown again.
    `previous_labels` and `previous_fields` (pods: spec.nodeName, status.phase) are parts of it.
    """

    rv: int
    type: ChangeType
    resource: str
    record: Record
    previous_labels: Mapping[str, str] | None = None
    previous_fields: tuple[str, str] | None = None
    before: Record | None = None
    _object: Object | None = None

    @property
    def namespace(self) -> str:
        """Namespace of the object, empty for cluster-scoped kinds."""
        return self.record.namespace

    @property
    def name(self) -> str:
        """Name of the object."""
        return self.record.name

    @property
    def object(self) -> Object:
        """The rendered object incl. kind and apiVersion; shared by all readers, never change it."""
        if self._object is None:
            self._object = render(self.resource, self.record)
        return self._object


class ChangeLog:
    """Changes of one resource in order of version, at most about `size` of them."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._changes: list[Change] = []
        self._dropped_through = 0  # version of the newest change that is no longer kept

    def append(self, change: Change) -> None:
        """Keep `change`; now and then the oldest fifth beyond the size is dropped."""
        self._changes.append(change)
        excess = len(self._changes) - self._size
        if excess > self._size // 4:
            self._dropped_through = self._changes[excess - 1].rv
            del self._changes[:excess]

    def begin_after(self, version: int) -> None:
        """Know nothing of what was up to `version`."""
        self._changes.clear()
        self._dropped_through = version

    def since(self, version: int, namespace: str | None) -> list[Change]:
        """Return the changes after `version`; raises ApiError 410 when some were dropped."""
        if version < self._dropped_through:
            raise gone_error(version, self._dropped_through)
        start = bisect_right(self._changes, version, key=lambda change: change.rv)
        newer = self._changes[start:]
        if namespace is None:
            return newer
        return [change for change in newer if change.namespace == namespace]
