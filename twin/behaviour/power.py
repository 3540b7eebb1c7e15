"""Electrical power of a node, from what its pods use now and how it is set.

watts = idle + 120 x cpu ratio x clock scale + 60 x memory ratio, idle being 80 W, or 12 W asleep.
A rented machine whose catalogue says what it draws goes from its idle to its full watts by the CPU ratio.
A machine that has failed draws nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum

from twin.behaviour.usage_table import UsageTable
from twin.scheduling.node_table import NodeTable
from twin.world import World

IDLE_WATTS = 80.0
CPU_WATTS = 120.0
MEMORY_WATTS = 60.0
ASLEEP_WATTS = 12.0


class Power:
    """Reads power; keeps nothing."""

    def __init__(self, world: World, nodes: NodeTable, usage: UsageTable) -> None:
        self._world = world
        self._nodes = nodes
        self._usage = usage
        self.range_of: Callable[[str], tuple[float, float] | None] = lambda _: None
        """(idle, full) watts of a rented machine; set once there is a cloud."""

    def watts(self, node_name: str) -> float:
        """Return the power of a node; raises KeyError for a name that never existed."""
        row = self._nodes.row_of[node_name]
        if not self._world.up(node_name):
            return 0.0
        usage = self._usage
        here = usage.rows()
        here = here[usage.node[here] == row]
        return self.watts_under(
            node_name,
            fsum(usage["cpu_now"][here].tolist()),
            fsum(usage["memory_now"][here].tolist()),
        )

    def watts_under(self, node_name: str, cpu_millicores: float, memory_bytes: float) -> float:
        """Return the power of a node that is up, under this load."""
        row = self._nodes.row_of[node_name]
        settings = self._nodes.settings[row]
        cpu = cpu_millicores / max(1, self._nodes.offered[0, row])
        memory = memory_bytes / max(1, int(self._nodes.offered[1, row]))
        scale = settings.clock_scale_ratio
        rented = self.range_of(node_name)
        if rented is not None and not settings.asleep:
            return float(rented[0] + (rented[1] - rented[0]) * min(1.0, cpu) * scale)
        idle = ASLEEP_WATTS if settings.asleep else IDLE_WATTS
        return float(idle + CPU_WATTS * cpu * scale + MEMORY_WATTS * memory)
