"""Node-pressure eviction: a kubelet whose node runs out of memory ends pods before the kernel does.

Below 100Mi of free memory, that is when the working sets exceed the allocatable, one pod is evicted
at each look (every step of contention): first those that use more than their request, of these the
lowest priority, of these the one that is furthest over. It fails with reason Evicted; budgets and
grace are not asked. The node shows MemoryPressure and a NoSchedule taint until there has been none for
five minutes. Source: kubernetes/website concepts/scheduling-eviction/node-pressure-eviction.md.
"""

from __future__ import annotations

from collections.abc import Callable

from inputs.quantities import memory_text
from twin.behaviour.usage_table import UsageTable
from twin.part import Part
from twin.records import NodeRecord
from twin.scheduling.node_table import NodeTable
from twin.world import World

TAINT = "node.kubernetes.io/memory-pressure"
Evict = Callable[[str, str], None]
"""(pod uid, sentence)"""


class MemoryPressure(Part):
    """Evicts pods of nodes under pressure; `evict` is the kubelet's."""

    KEEPS = ("_pressed_at",)

    def __init__(self, world: World, nodes: NodeTable, usage: UsageTable, evict: Evict) -> None:
        self._world = world
        self._nodes = nodes
        self._usage = usage
        self._evict = evict
        self._pressed_at: dict[str, float] = {}  # nodes under pressure: the newest time of it

    def keep(self, short: list[int]) -> None:
        """Relieve the node rows that are short of memory; end the pressure of those that are not
        any more.
        """
        if not short and not self._pressed_at:
            return
        config = self._world.config.memory
        if not config.pressure_evictions:
            return
        for row in short:
            name = self._nodes.names[row]
            if self._world.up(name):
                fresh = name not in self._pressed_at
                self._pressed_at[name] = self._world.now
                if fresh:
                    self._show(name, pressure=True)
                self._relieve(row)
        horizon = self._world.now - config.pressure_transition_seconds
        for name in [name for name, at in self._pressed_at.items() if at <= horizon]:
            del self._pressed_at[name]
            self._show(name, pressure=False)

    def _relieve(self, node: int) -> None:
        usage = self._usage
        rows = usage.rows()
        here = rows[usage.node[rows] == node].tolist()
        if not here:
            return
        free = float(self._nodes.offered[1, node]) + self._world.config.memory.eviction_bytes
        for row in here:
            free -= float(usage["memory_now"][row])
        worst = min(here, key=self._order)
        limit = memory_text(self._world.config.memory.eviction_bytes)
        text = (
            f"The node was low on resource: memory. Threshold quantity: {limit}, "
            f"available: {max(0, int(free)) // 1024}Ki. "
        )
        self._evict(usage.uids[worst], text)

    def _order(self, row: int) -> tuple[bool, int, float, str]:
        usage = self._usage
        uid = usage.uids[row]
        over = float(usage["memory_now"][row] - usage["memory_request"][row])
        return (over <= 0.0, self._world.pods[uid].shape.priority, -over, uid)

    def _show(self, name: str, *, pressure: bool) -> None:
        """Write the node's condition and taint, and tell it."""
        world, node = self._world, self._world.node(name)
        if node is None:
            return
        before = node.clone()
        node.memory_pressure = pressure
        node.taints = _taints(node, pressure=pressure)
        world.store.touch("nodes", node, before)
        word = "NodeHasInsufficientMemory" if pressure else "NodeHasSufficientMemory"
        text = f"Node {name} status is now: {word}"
        world.reporter.report(node, "Node", word, text, "kubelet")


def _taints(node: NodeRecord, *, pressure: bool) -> tuple[dict[str, str], ...]:
    rest = tuple(taint for taint in node.taints if taint["key"] != TAINT)
    return (*rest, {"key": TAINT, "effect": "NoSchedule"}) if pressure else rest
