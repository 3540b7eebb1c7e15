"""The nodes with their pods as places, kept from one look to the next.

Problem: a provisioner looks at every node every ten seconds, and in most of these ten seconds nothing about
most of them has changed. Guarantee: the table is what one made from nothing would be, pods in order of
binding and places by name included; only places of which something was heard are made again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from twin.changes import Change
from twin.provisioners.client import Client
from twin.provisioners.placement import NodeInfo
from twin.records import NodeRecord, PodRecord

Counts = Callable[[PodRecord], bool]
"""Whether a pod that is bound to a node takes room there."""


class NodeInfoTable:
    """Places by node name; a cache, empty in a restored engine."""

    def __init__(self, client: Client, counts: Counts) -> None:
        self._client = client
        self._counts = counts
        self.places: dict[str, NodeInfo] = {}
        """By name of the node, in order of names, as of the last `refresh`."""
        self._filled = False
        self._dirty: dict[str, None] = {}
        self._moved = False  # whether nodes have come or gone

    def follow(self, change: Change) -> None:
        """Note which node a change is about."""
        record = change.record
        if isinstance(record, PodRecord):
            before = change.before
            if record.node_name:
                self._dirty[record.node_name] = None
            if isinstance(before, PodRecord) and before.node_name:
                self._dirty[before.node_name] = None
        elif isinstance(record, NodeRecord):
            self._dirty[record.name] = None
            self._moved |= change.type != "MODIFIED"

    def spoil(self, names: Iterable[str]) -> None:
        """Say that places were changed in thought, so that they are made again."""
        self._dirty.update(dict.fromkeys(names))

    def forget(self) -> None:
        """Know nothing, as when the world has become another."""
        self._filled = False

    def refresh(self) -> list[str] | None:
        """Bring the table up to date; return the nodes that are other than at the last time, or are gone,
        and None when all of them may be.
        """
        if not self._filled:
            self.places = {node.name: self._place(node) for node in self._client.nodes()}
            self._filled, self._moved, self._dirty = True, False, {}
            return None
        changed = list(self._dirty)
        for name in changed:
            node = self._client.node(name)
            if node is None:
                self.places.pop(name, None)
            else:
                self.places[name] = self._place(node)
        if self._moved:
            self.places = dict(sorted(self.places.items()))
        self._moved, self._dirty = False, {}
        return changed

    def _place(self, node: NodeRecord) -> NodeInfo:
        place = NodeInfo.of(node)
        for pod in self._client.pods_on(node.name):
            if self._counts(pod):
                place.hold(pod)
        return place
