"""Out of memory: a container over its limit, a node over its allocatable, a squeezed pod.

Exit code 137 in each case. A node has its allocatable and the eviction threshold; when its pods hold
more, the kernel kills the one with the highest oom_score until the rest fits: usage in thousandths
of the node's memory, plus 1000 for BestEffort, -997 for Guaranteed, and for Burstable pods 1000 less
the request in thousandths (website concepts/scheduling-eviction/node-pressure-eviction.md). Before
that, kubelets evict (`memory_pressure.py`). A squeeze (balloon or cap) raises the risk: shortfall
squared x SQUEEZE_KILLS_PER_STEP.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from twin.behaviour.memory_pressure import MemoryPressure
from twin.behaviour.usage_table import UsageTable
from twin.scheduling.node_table import NodeTable, node_sums
from twin.world import World

SQUEEZE_KILLS_PER_STEP = 0.01
_BURSTABLE = 1  # rank of the usage table
_ADJUSTMENTS = (1_000.0, 0.0, -997.0)  # of oom_score, by rank
Kill = Callable[[str, str], None]
"""(pod uid, sentence)"""


class OomKiller:
    """Kills what no longer fits; `kill` and `evict` are the kubelet's."""

    def __init__(
        self, world: World, nodes: NodeTable, usage: UsageTable, kill: Kill, evict: Kill
    ) -> None:
        self._world = world
        self._nodes = nodes
        self._usage = usage
        self._kill = kill
        self._squeezes = world.chance.draws("memory squeezes")
        self._pressure = MemoryPressure(world, nodes, usage, evict)

    def keep(self, rows: Any) -> None:
        """Look at every running pod once; called after memory has been granted."""
        usage = self._usage
        wanted, held = usage["memory_wanted"][rows], usage["memory_now"][rows]
        over = wanted > usage["memory_limit"][rows]
        shortfall = 1.0 - held / np.maximum(wanted, 1.0)
        if shortfall.any():  # without one no draw kills
            bucket = int((self._world.now - self._world.config.start_time) * 1000)
            draws = self._squeezes.uniforms_of(usage.key[rows], bucket)
            over |= draws < shortfall * shortfall * SQUEEZE_KILLS_PER_STEP
        doomed = rows[over].tolist()
        for uid in [usage.uids[row] for row in doomed]:
            self._kill(uid, "Container exceeded its memory")
        self._keep_nodes()

    def _keep_nodes(self) -> None:
        usage, nodes = self._usage, self._nodes
        rows = usage.rows()
        total = node_sums(usage.node[rows], usage["memory_now"][rows], nodes.count)
        offered = nodes.offered[1, : nodes.count]
        spare = self._world.config.memory.eviction_bytes
        for node in np.flatnonzero(total > offered + spare).tolist():
            self._kill_on(node, rows[usage.node[rows] == node].tolist(), float(total[node]))
        self._pressure.keep(np.flatnonzero(total > offered).tolist())

    def _kill_on(self, node: int, rows: list[int], held_bytes: float) -> None:
        usage = self._usage
        memory = float(self._nodes.offered[1, node]) + self._world.config.memory.eviction_bytes
        for row in sorted(rows, key=lambda row: (-self._oom_score(row, memory), usage.uids[row])):
            if held_bytes <= memory:
                return
            held_bytes -= float(usage["memory_now"][row])
            self._kill(usage.uids[row], f"System OOM on {self._nodes.names[node]}")

    def _oom_score(self, row: int, memory_bytes: float) -> float:
        """Return the kernel's oom_score of a pod; the highest goes first."""
        usage, rank = self._usage, int(self._usage.qos[row])
        adjustment = _ADJUSTMENTS[rank]
        if rank == _BURSTABLE:
            part = 1_000.0 * float(usage["memory_request"][row]) / memory_bytes
            adjustment = min(max(2.0, 1_000.0 - part), 999.0)
        return 1_000.0 * float(usage["memory_now"][row]) / memory_bytes + adjustment
