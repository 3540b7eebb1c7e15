"""Objects as list items, kept as long as they do not change.

Who looks at a cluster every few seconds lists all of it, of which little has changed since; making the JSON
of pods anew was half of what such a look cost. A version is given to one state of one object, so what was
made for a version stays right. Guarantee: the same bytes as `pieces.item_bytes`, and never more than
MOST_ITEMS of them (about 10 MB).
"""

from __future__ import annotations

from collections.abc import Iterable

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
        return self.bytes_of(resource, (record,))[0]

    def bytes_of(self, resource: str, records: Iterable[Record]) -> list[bytes]:
        """Return the same of each object; most are known."""
        items, answer = self._items, []
        for record in records:
            known = items.get(record.uid)
            if known is not None and known[0] == record.resource_version:
                answer.append(known[1])
                continue
            if len(items) >= MOST_ITEMS and known is None:
                items.clear()
            content = item_bytes(resource, record)
            items[record.uid] = (record.resource_version, content)
            answer.append(content)
        return answer
