"""Out of memory: a container over its limit, a node over its allocatable, a squeezed pod.

Exit code 137 in each case. On a node that holds too much the kernel takes BestEffort pods first,
then Burstable ones by usage over request, then Guaranteed ones, until the rest fits.
A squeeze (balloon or cap) raises the risk: shortfall squared x SQUEEZE_KILLS_PER_STEP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from twin.behaviour.node_table import NodeTable, node_sums
from twin.behaviour.usage_table import UsageTable
from twin.behaviour.variation import unit_draws
from twin.world import World

SQUEEZE_KILLS_PER_STEP = 0.01
_SALT = 9
Kill = Callable[[str, str], None]
"""(pod uid, sentence)"""


class MemoryKeeper:
    """Kills what no longer fits; `kill` is the kubelet's."""

    def __init__(self, world: World, nodes: NodeTable, usage: UsageTable, kill: Kill) -> None:
        self._world = world
        self._nodes = nodes
        self._usage = usage
        self._kill = kill

    def keep(self, rows: Any) -> None:
        """Look at every running pod once; called after memory has been granted."""
        usage = self._usage
        wanted, held = usage["memory_wanted"][rows], usage["memory_now"][rows]
        over = wanted > usage["memory_limit"][rows]
        shortfall = 1.0 - held / np.maximum(wanted, 1.0)
        bucket = int((self._world.now - self._world.config.start_time) * 1000)
        draws = unit_draws(usage.seed[rows], bucket, _SALT)
        squeezed = draws < shortfall * shortfall * SQUEEZE_KILLS_PER_STEP
        doomed = rows[over | squeezed].tolist()
        for uid in [usage.uids[row] for row in doomed]:
            self._kill(uid, "Container exceeded its memory")
        self._keep_nodes()

    def _keep_nodes(self) -> None:
        usage, nodes = self._usage, self._nodes
        rows = usage.rows()
        total = node_sums(usage.node[rows], usage["memory_now"][rows], nodes.count)
        for node in np.flatnonzero(total > nodes.offered[1, : nodes.count]).tolist():
            excess = float(total[node]) - float(nodes.offered[1, node])
            for row in self._victims(rows[usage.node[rows] == node].tolist()):
                if excess <= 0.0:
                    break
                excess -= float(usage["memory_now"][row])
                self._kill(usage.uids[row], f"System OOM on {nodes.names[node]}")

    def _victims(self, rows: list[int]) -> list[int]:
        usage = self._usage

        def order(row: int) -> tuple[int, float, str]:
            over = usage["memory_now"][row] - usage["memory_request"][row]
            return (int(usage.qos[row]), -float(over), usage.uids[row])

        return sorted(rows, key=order)
