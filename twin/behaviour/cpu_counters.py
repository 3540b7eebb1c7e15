"""CPU time that nodes and containers have used, as counters that only grow: what exporters show."""

from __future__ import annotations

from typing import Any

import numpy as np

from twin.behaviour.usage_table import UsageTable
from twin.part import Part
from twin.scheduling.node_table import Floats, NodeTable, node_sums


class CpuCounters(Part):
    """CPU-seconds by node row since the start of the cluster, and by container since its start."""

    KEEPS = ("node_seconds", "_spent", "_started_at")

    def __init__(self, nodes: NodeTable, usage: UsageTable) -> None:
        self._nodes = nodes
        self._usage = usage
        self.node_seconds: Floats = np.zeros(0)
        self._spent: Floats = np.zeros(0)  # by row of the usage table
        self._started_at: Floats = np.zeros(0)  # of the container that spent them

    def add(self, rows: Any, worked: Any) -> None:
        """Add what `rows` used in the seconds that each has `worked` since the last step."""
        usage, count = self._usage, self._nodes.count
        missing = len(usage.uids) - len(self._spent)
        if missing > 0:
            self._spent = np.pad(self._spent, (0, missing))
            self._started_at = np.pad(self._started_at, (0, missing))
        if count > len(self.node_seconds):
            self.node_seconds = np.pad(self.node_seconds, (0, count - len(self.node_seconds)))
        seconds = usage["cpu_now"][rows] * worked / 1_000.0
        self.node_seconds += node_sums(usage.node[rows], seconds, count)
        started = usage["started_at"][rows]
        self._spent[rows[self._started_at[rows] != started]] = 0.0
        self._started_at[rows] = started
        self._spent[rows] += seconds

    def of_pod(self, uid: str) -> float | None:
        """Return a running pod's CPU-seconds since its container started; None when it does not run."""
        row = self._usage.row_of.get(uid)
        if row is None:
            return None
        known = row < len(self._spent) and self._started_at[row] == self._usage["started_at"][row]
        return float(self._spent[row]) if known else 0.0
