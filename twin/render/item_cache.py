"""Objects as list items, kept as long as they do not change.

Who looks at a cluster every few seconds lists all of it, of which little has changed since; making the JSON
of pods anew was half of what such a look cost. A version is given to one state of one object, so what was
made for a version stays right. Guarantee: the same bytes as `pieces.item_bytes`, and never more than
MOST_ITEMS of them (about 10 MB).
"""

from __future__ import annotations

from twin.records import Record
from twin.render.pieces import item_bytes

MOST_ITEMS = 6_000
"""A larger cluster's lists are made anew each time."""


class ItemCache:
    """Bytes of list items, of one store."""

    def __init__(self) -> None:
        """Begin with none."""
        self._items: dict[str, tuple[int, bytes]] = {}  # version and bytes by uid

    def item_bytes(self, resource: str, record: Record) -> bytes:
        """Return an object as a list of a built-in kind holds it: without kind and apiVersion."""
        known = self._items.get(record.uid)
        if known is not None and known[0] == record.resource_version:
            return known[1]
        if len(self._items) >= MOST_ITEMS and known is None:
            self._items.clear()
        content = item_bytes(resource, record)
        self._items[record.uid] = (record.resource_version, content)
        return content
