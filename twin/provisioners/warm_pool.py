"""The earlier system's local provisioner: machines that run cordoned until a pod waits.

Every five seconds one warm machine is woken while a pod is pending; a machine that has been empty of
work for 18 looks in a row without a pending pod becomes warm again. Nothing is rented or given back, so
it never costs less than all of its machines (docs/baseline-fields.md, local Karpenter).
"""

from __future__ import annotations

from twin.changes import Change
from twin.machines.catalogue import ON_DEMAND
from twin.machines.cloud import Cloud
from twin.names import suffix
from twin.part import Part
from twin.provisioners.client import Client, is_daemon, waits_for_room
from twin.records import NodeRecord, Object
from twin.world import World

COMPONENT = "warm-pool"
STATE = "foresail.dev/provisioning-state"
ACTIVE, WARM = "active", "warm"
TAINT: Object = {"key": "foresail.dev/capacity", "value": "warm", "effect": "NoSchedule"}


class WarmPool(Part):
    """Wakes machines and lets them rest."""

    KEEPS = ("_idle",)

    def __init__(self, world: World, cloud: Cloud, client: Client) -> None:
        self._world = world
        self._cloud = cloud
        self._client = client
        self._config = world.config.provisioning.warm_pool
        self._idle = 0  # looks in a row without a pending pod
        world.clock.handle("warm_pool.look", self._look)

    def begin(self) -> None:
        """Let all machines run, the last ones warm, and plan the first look."""
        machines = self._cloud.catalogue.machines
        name = self._config.machine or machines[0].name
        offering = next(
            one for one in self._cloud.catalogue.offerings(name) if one.capacity_type == ON_DEMAND
        )
        for number in range(self._config.size):
            warm = number >= self._config.size - self._config.warm
            node = f"warm-pool-{suffix(self._world.seed, 'warm pool', number)}"
            self._cloud.order(
                COMPONENT,
                node,
                offering,
                labels={STATE: WARM if warm else ACTIVE},
                taints=(TAINT,) if warm else (),
                booted=True,
            )
            found = self._client.node(node)
            if warm and found is not None:
                self._client.set_node(found, unschedulable=True)
        self._world.clock.after(self._config.loop_seconds, "warm_pool.look")

    def follow(self, change: Change) -> None:
        """Nothing that changes is heard of before the next look."""

    def _look(self) -> None:
        nodes = [node for node in self._client.nodes() if STATE in node.labels]
        if any(waits_for_room(pod) for pod in self._client.pods()):
            self._idle = 0
            warm = next((node for node in nodes if node.labels[STATE] == WARM), None)
            if warm is not None:
                self._wake(warm)
        else:
            self._idle += 1
            if self._idle >= self._config.idle_iterations:
                self._idle = 0
                self._rest(nodes)
        self._world.clock.after(self._config.loop_seconds, "warm_pool.look")

    def _wake(self, node: NodeRecord) -> None:
        rest = tuple(taint for taint in node.taints if taint["key"] != TAINT["key"])
        labels = {**node.labels, STATE: ACTIVE}
        self._client.set_node(node, labels=labels, taints=rest, unschedulable=False)
        self._client.report(node, "Node", "WarmNodeActivated", "pods wait: the machine is woken")

    def _rest(self, nodes: list[NodeRecord]) -> None:
        """Let one empty machine become warm again, beyond those that are always active."""
        active = [node for node in nodes if node.labels[STATE] == ACTIVE]
        if len(active) <= self._config.size - self._config.warm:
            return
        for node in reversed(active):
            pods = self._client.pods_on(node.name)
            if any(not pod.terminal and not is_daemon(pod) for pod in pods):
                continue
            labels = {**node.labels, STATE: WARM}
            taints = (*node.taints, TAINT)
            self._client.set_node(node, labels=labels, taints=taints, unschedulable=True)
            self._client.report(node, "Node", "WarmNodeReleased", "no pod waits: the machine rests")
            return
