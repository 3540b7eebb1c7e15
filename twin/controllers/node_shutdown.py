"""Graceful node shutdown: the kubelet ends its pods, then the machine goes.

The node is NotReady at once (the kubelet says so itself), with the not-ready taints. Its pods end
within the grace as Failed with reason Terminated; their controllers make new ones elsewhere. A
machine that comes back is Ready again.
Source: kubernetes/website concepts/cluster-administration/node-shutdown.md.
"""

from __future__ import annotations

import math

from twin.admission.pods import NOT_READY
from twin.behaviour.kubelet import Kubelet
from twin.controllers.node_lifecycle import NodeLifecycle
from twin.part import Part
from twin.world import World

_MESSAGE = "Pod was terminated in response to imminent node shutdown."


class NodeShutdown(Part):
    """Shuts machines down in an orderly way; keeps nothing beside what it has planned."""

    def __init__(self, world: World, kubelet: Kubelet, lifecycle: NodeLifecycle) -> None:
        self._world = world
        self._kubelet = kubelet
        self._lifecycle = lifecycle
        world.clock.handle("shutdown.pods", self._end_pods)
        world.clock.handle("shutdown.machine", self._stop)

    def begin(self, node_name: str, grace_seconds: float, duration_seconds: float) -> None:
        """Shut a machine down, and start it again after the duration (inf: never); nothing happens
        to one that is unknown or has failed.
        """
        world, node = self._world, self._world.node(node_name)
        if node is None or not world.up(node_name):
            return
        before = node.clone()
        node.ready_status, node.ready_since = "False", world.now
        taken = tuple(taint for taint in node.taints if taint["key"] != NOT_READY)
        node.taints = (
            *taken,
            *({"key": NOT_READY, "effect": effect} for effect in ("NoSchedule", "NoExecute")),
        )
        world.store.touch("nodes", node, before)
        text = f"Node {node_name} status is now: NodeNotReady"
        world.reporter.report(node, "Node", "NodeNotReady", text, "kubelet")
        ends = min(grace_seconds, world.config.stop_median_seconds)
        world.clock.after(ends, "shutdown.pods", node_name)
        back = -1.0 if math.isinf(duration_seconds) else duration_seconds
        world.clock.after(grace_seconds, "shutdown.machine", node_name, back)

    def _end_pods(self, node_name: str) -> None:
        if not self._world.up(node_name):
            return
        for pod in list(self._world.pods_on.get(node_name, {}).values()):
            self._kubelet.end(pod, "Terminated", _MESSAGE)

    def _stop(self, node_name: str, back_seconds: float) -> None:
        if self._world.up(node_name):
            self._lifecycle.fail(node_name, math.inf if back_seconds < 0.0 else back_seconds)
