"""Metrics as an adapter makes them from Prometheus: scraped rarely, CPU as a rate over a long window.

Each pod has a CPU counter, as cAdvisor has; it begins anew with its container. At each scrape the
counter and the working set are read; the CPU shown is the rise since the oldest scrape within the
window over the time between the two, so a change of load shows slowly. A pod needs two scrapes, a
scrape happens at the first step of contention at which it is due.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from twin.behaviour.impairments import Impairments
from twin.behaviour.metrics import Metrics
from twin.behaviour.usage_table import UsageTable
from twin.scheduling.node_table import Floats, NodeTable, node_sums
from twin.world import World


class PrometheusMetrics(Metrics):
    """The newest scrape and those within the window before it."""

    KEEPS = (*Metrics.KEEPS, "_spent", "_started_at", "_history", "_next_at")

    def __init__(
        self, world: World, nodes: NodeTable, usage: UsageTable, impairments: Impairments
    ) -> None:
        super().__init__(world, nodes, usage, impairments)
        config = world.config.metrics
        self._window_seconds = config.prometheus_window_seconds
        self._spent: Floats = np.zeros(0)  # millicore-seconds, by row of the usage table
        self._started_at: Floats = np.zeros(0)  # of the container that spent them
        self._history: list[tuple[float, dict[str, tuple[float, float]]]] = []
        self._next_at = world.now + config.prometheus_scrape_seconds

    def scrape_cpu(self, rows: Any, previous: float) -> None:
        """Let the counters rise by what was used since the `previous` step."""
        usage, missing = self._usage, len(self._usage.uids) - len(self._spent)
        if missing > 0:
            self._spent = np.pad(self._spent, (0, missing))
            self._started_at = np.pad(self._started_at, (0, missing))
        started = usage["started_at"][rows]
        self._spent[rows[self._started_at[rows] != started]] = 0.0
        self._started_at[rows] = started
        worked = self._world.now - np.maximum(started, previous)
        self._spent[rows] += usage["cpu_now"][rows] * worked

    def scrape_memory(self, rows: Any, previous: float) -> None:
        """Scrape if it is time to, and publish the rates."""
        del previous
        now, config = self._world.now, self._world.config.metrics
        if now < self._next_at:
            return
        self._next_at += config.prometheus_scrape_seconds
        self._hold_stale()
        usage = self._usage
        uids = [usage.uids[row] for row in rows.tolist()]
        pairs = zip(self._spent[rows].tolist(), usage["started_at"][rows].tolist(), strict=True)
        oldest = now - config.prometheus_window_seconds
        self._history = [entry for entry in self._history if entry[0] >= oldest]
        self._history.append((now, dict(zip(uids, pairs, strict=True))))
        rates = [self._rate(uid) for uid in uids]
        seen = [number for number, rate in enumerate(rates) if rate is not None]
        filled = np.array([rate or 0.0 for rate in rates])
        self._rows = rows[seen]
        self._uids = [uids[number] for number in seen]
        self._cpu, self._memory = filled[seen], usage["memory_now"][self._rows]
        count = self._nodes.count
        self._node_cpu = node_sums(usage.node[rows], filled, count)
        self._node_memory = node_sums(usage.node[rows], usage["memory_now"][rows], count)
        self._place_of = None
        self._silent = frozenset(self._world.down) | self._impairments.unscraped
        self._scraped_at = now

    def _rate(self, uid: str) -> float | None:
        """Return the mean millicores of a container over the window; None with one scrape alone."""
        now, newest = self._history[-1]
        spent, started = newest[uid]
        for at, scrape in self._history[:-1]:
            earlier = scrape.get(uid)
            if earlier is not None and earlier[1] == started:
                return (spent - earlier[0]) / (now - at)
        return None
