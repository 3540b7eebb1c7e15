"""Usage windows: a pod's mean usage changes over its life as the trace that it comes from says.

A window counts the work that the pod has done, so a pod that is slowed stays longer in each. Windows
turn at the steps of contention (15 s), so a border may come one step late; after the last one its
means stay. A container that starts again begins with the first.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from twin.behaviour.pod_work import mean_usage, read_windows
from twin.behaviour.usage_table import UsageTable
from twin.world import World


class UsageWindows:
    """Turns the windows of running pods; keeps nothing beside the usage table."""

    def __init__(self, world: World, usage: UsageTable) -> None:
        self._world = world
        self._usage = usage

    def turn(self, rows: Any) -> None:
        """Set the means of those of `rows` whose window has ended."""
        usage = self._usage
        due = rows[usage["worked"][rows] >= usage["window_ends"][rows]]
        for row in due.tolist():
            self._turn(row)

    def _turn(self, row: int) -> None:
        usage, pod = self._usage, self._world.pods[self._usage.uids[row]]
        windows = read_windows(pod)
        worked, ends = float(usage["worked"][row]), 0.0
        for number, window in enumerate(windows):
            ends += window.seconds
            last = number == len(windows) - 1
            if worked < ends or last:
                usage["cpu_mean"][row], usage["memory_mean"][row] = mean_usage(pod, window)
                usage["window_ends"][row] = math.inf if last else ends
                return
        usage["window_ends"][row] = np.inf  # the annotation is gone
