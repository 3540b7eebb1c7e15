"""Spot machines: a notice, then the machine is gone for good.

The notice is a NoSchedule taint and a KubeEvent on the node, as node termination handlers write
them; whoever wants the pods elsewhere has to move them. At the end the machine stops, and when the
node controller notices, the cloud knows no such machine and the node object is deleted.
Source: docs.aws.amazon.com spot-instance-termination-notices (2 min); GCP and Azure give 30 s.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from twin.controllers.node_lifecycle import NodeLifecycle
from twin.part import Part
from twin.world import World

TAINT = "foresail.dev/spot-interruption"


class Spot(Part):
    """Reclaims machines."""

    KEEPS = ("_noticed",)

    def __init__(self, world: World, lifecycle: NodeLifecycle) -> None:
        self._world = world
        self._lifecycle = lifecycle
        self.on_end: Callable[[str], None] = lambda _: None
        """Called with the name of a node whose machine is taken back now, for whoever rented it out."""
        self._noticed: dict[str, str] = {}  # nodes that are going: uid
        world.clock.handle("spot.end", self._end)
        world.clock.handle("spot.delete", self._delete)

    def reclaim(self, node_name: str, notice_seconds: float) -> None:
        """Give notice now; a second notice for the same node changes nothing."""
        world, node = self._world, self._world.node(node_name)
        if node is None or self._noticed.get(node_name) == node.uid:
            return
        self._noticed[node_name] = node.uid
        before = node.clone()
        node.taints = (*node.taints, {"key": TAINT, "effect": "NoSchedule"})
        world.store.touch("nodes", node, before)
        text = f"The machine of node {node_name} will be reclaimed in {notice_seconds:g}s"
        world.reporter.report(node, "Node", "SpotInterruption", text, "cloud-provider")
        world.clock.after(notice_seconds, "spot.end", node_name, node.uid)

    def _end(self, node_name: str, uid: str) -> None:
        node = self._world.node(node_name)
        if node is None or node.uid != uid:
            self._forget(node_name, uid)  # it was drained and given back before its time
            return
        self.on_end(node_name)
        noticed_at = self._lifecycle.notice_at(node_name)
        self._lifecycle.fail(node_name, math.inf)
        self._world.clock.at(noticed_at, "spot.delete", node_name, uid)

    def _delete(self, node_name: str, uid: str) -> None:
        node = self._world.node(node_name)
        self._forget(node_name, uid)
        if node is not None and node.uid == uid:
            self._world.store.delete("nodes", "", node_name)

    def _forget(self, node_name: str, uid: str) -> None:
        if self._noticed.get(node_name) == uid:
            del self._noticed[node_name]
