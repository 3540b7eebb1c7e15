"""Which nodes the node controller has seen come and go: RegisteredNode and RemovingNode.

It compares the nodes that are there with those of its last look, by name, every `monitor_seconds`; a node that was
deleted and made anew in between is neither (pkg/controller/nodelifecycle/node_lifecycle_controller.go, classifyNodes;
pkg/controller/util/node/controller_utils.go, RecordNodeEvent).
"""

from __future__ import annotations

import math

from twin.changes import Change
from twin.part import Part
from twin.records import NodeRecord
from twin.world import World

_COMPONENT = "node-controller"


class NodeRegistry(Part):
    """Notes changes, so that a look costs what has changed and not all nodes."""

    KEEPS = ("_changed",)

    def __init__(self, world: World) -> None:
        self._world = world
        self._changed: dict[str, str] = {}
        """Nodes that have come or gone since the last look: the uid of the one that was known then, empty
        for none. While there are any a look is planned."""
        world.clock.handle("node.compare", self._compare)

    def follow(self, change: Change) -> None:
        """Note a node that has come or gone."""
        world, node = self._world, change.record
        if change.type == "MODIFIED" or not world.config.kube_events:
            return
        if not self._changed:
            period = world.config.machines.monitor_seconds
            when = period * math.ceil(world.now / period) if period > 0.0 else world.now
            world.clock.at(when, "node.compare")
        self._changed.setdefault(node.name, node.uid if change.type == "DELETED" else "")

    def _compare(self) -> None:
        changed, self._changed = self._changed, {}
        for name, known_uid in changed.items():
            node = self._world.node(name)
            if node is not None and not known_uid:
                self._report(node, "RegisteredNode", f"Registered Node {name} in Controller")
            elif node is None and known_uid:
                gone = NodeRecord()
                gone.namespace, gone.name, gone.uid = "", name, known_uid
                self._report(gone, "RemovingNode", f"Removing Node {name} from Controller")

    def _report(self, node: NodeRecord, reason: str, text: str) -> None:
        message = f"Node {node.name} event: {text}"
        self._world.reporter.report(node, "Node", reason, message, _COMPONENT)
