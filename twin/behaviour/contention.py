"""Contention: one step every 15 s that shares each node's CPU and memory among its pods.

A pod wants mean x variation. Its node's clock scale slows it, and when all together want more than
the node gives (allocatable x the smaller of clock scale and CPU cap) everybody gets the same part.
Work goes on at the rate of what was granted: it slows, it does not vanish. Memory scale takes that
part of every working set away, a memory cap shrinks all to fit; both are a squeeze (`memory.py`).
A sleeping node that still has pods runs them at SLEEP_CLOCK_SCALE. A machine that is slow
(`impairments.py`) gives that part of everything, from the next step on.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from twin.behaviour.cpu_counters import CpuCounters
from twin.behaviour.impairments import Impairments
from twin.behaviour.job_work import JobWork
from twin.behaviour.memory import OomKiller
from twin.behaviour.metrics import Metrics
from twin.behaviour.sharing import shared_parts
from twin.behaviour.usage_table import UsageTable
from twin.behaviour.usage_windows import UsageWindows
from twin.behaviour.variation import CPU_WAVES, MEMORY_WAVES, Known, variation
from twin.node_settings import NodeSettings
from twin.part import Part
from twin.scheduling.node_table import Floats, NodeTable, node_sums
from twin.world import World

SLEEP_CLOCK_SCALE = 0.35
_WARM_UP_SECONDS = 300.0  # a working set grows to its mean over this time
_COLD_RATIO = 0.6
_LEAST_VARIATION = 0.05


class Columns:
    """What is set on all nodes, by row."""

    def __init__(self, settings: list[NodeSettings]) -> None:
        self.settings = settings
        self.clock_scale = np.array(
            [_clock_scale(entry.asleep, entry.clock_scale_ratio) for entry in settings]
        )
        self.cpu_cap = np.array([entry.cpu_cap_ratio for entry in settings])
        self.memory_scale = np.array([entry.memory_scale_ratio for entry in settings])
        self.capped = tuple(
            row for row, entry in enumerate(settings) if math.isfinite(entry.memory_cap_ratio)
        )


class Demands(Protocol):
    """Pods that want what the requests need that they serve (`twin.serving.serving`)."""

    def step(self) -> None:
        """Account for the requests since the last step."""

    def demands(self, seconds: float) -> tuple[Any, Any, Any] | None:
        """Return rows, millicores wanted and at most taken over the next `seconds`."""


class Contention(Part):
    """Grants CPU and memory to running pods, and says when their work will be done.

    `serving` is set once both exist.
    """

    serving: Demands

    KEEPS = ("_stepped_at", "_rates")
    LEAVES = ("_set", "_known")

    def __init__(
        self,
        world: World,
        nodes: NodeTable,
        usage: UsageTable,
        metrics: Metrics,
        memory: OomKiller,
        impairments: Impairments,
    ) -> None:
        self._world = world
        self._nodes = nodes
        self._usage = usage
        self._metrics = metrics
        self._memory = memory
        self._impairments = impairments
        self._windows = UsageWindows(world, usage)
        self.counters = CpuCounters(nodes, usage)
        self.after_step: Callable[[Any], None] | None = None
        """Called with the rows in use after each step, once somebody wants to know."""
        self.job_work = JobWork(world, usage, self.counters)
        self._draws = world.chance.draws("usage")
        self._known: Known = {}
        self._stepped_at = world.now
        self._rates: Floats = np.ones(0)  # by node row, since the last step
        self._set = Columns([])
        world.clock.handle("contention.step", self.step)
        world.clock.after(world.config.scrape_seconds, "contention.step")

    def rate_on(self, node_name: str) -> float:
        """Return the rate of work on a node since the last step."""
        row = self._nodes.row_of[node_name]
        return float(self._rates[row]) if row < len(self._rates) else 1.0

    def plan_finish(self, row: int) -> None:
        """Plan the end of a row's work when it comes before the next step."""
        rate = float(self._usage["rate"][row])
        left = float(self._usage["work_left"][row])
        next_step = self._stepped_at + self._world.config.scrape_seconds
        if rate > 0.0 and left / rate <= next_step - self._world.now:
            when = self._world.now + left / rate
            self._world.clock.at(when, "kubelet.finish", self._usage.uids[row],
                                 float(self._usage["started_at"][row]))  # fmt: skip

    def wanted_ahead(self, seconds: Any) -> tuple[Any, Any, Any]:
        """Return the rows in use, and (moments, rows) millicores and bytes that each will want if it still runs then.

        That is what somebody would know who knew the future; usage windows that begin later are left out, and
        what requests ask of pods that serve.

        Args:
            seconds: from now on, of each moment.
        """
        usage = self._usage
        rows, now = usage.rows(), self._elapsed_seconds()
        age = self._world.now - usage["started_at"][rows]
        cpu, memory = [], []
        for later in seconds:
            keys, at = usage.key[rows], now + float(later)
            factor = variation(self._draws, keys, at, CPU_WAVES)
            wanted = usage["cpu_mean"][rows] * np.maximum(factor, _LEAST_VARIATION)
            cpu.append(np.minimum(wanted, usage["cpu_limit"][rows]))
            factor = variation(self._draws, keys, at, MEMORY_WAVES)
            memory.append(usage["memory_mean"][rows] * factor + usage["leak"][rows] * (age + later))
        return rows, np.array(cpu), np.array(memory)

    def step(self) -> None:
        """Account for the work since the last step, scrape, and grant anew."""
        self.serving.step()
        now, usage = self._world.now, self._usage
        rows = usage.rows()
        worked = now - np.maximum(usage["started_at"][rows], self._stepped_at)
        done = usage["rate"][rows] * worked
        usage["work_left"][rows] -= done
        usage["worked"][rows] += done
        self.counters.add(rows, worked)
        self.job_work.step()
        self._metrics.scrape_cpu(rows, self._stepped_at)
        previous, self._stepped_at = self._stepped_at, now
        if self._set.settings != self._nodes.settings:
            self._set = Columns(list(self._nodes.settings))
        self._windows.turn(rows)
        self._grant_cpu(rows)
        self._grant_memory(rows)
        self._metrics.scrape_memory(rows, previous)
        self._memory.keep(rows)
        if self.after_step is not None:
            self.after_step(usage.rows())
        for row in np.flatnonzero(usage.active & self._soon_done()).tolist():
            self.plan_finish(row)
        self._world.clock.after(self._world.config.scrape_seconds, "contention.step")

    def _soon_done(self) -> Any:
        usage = self._usage
        return usage["work_left"] <= usage["rate"] * self._world.config.scrape_seconds

    def _elapsed_seconds(self) -> float:
        return self._world.now - self._world.config.start_time

    def _grant_cpu(self, rows: Any) -> None:
        usage, nodes = self._usage, self._nodes
        count = nodes.count
        node = usage.node[rows]
        factor = variation(
            self._draws, usage.key[rows], self._elapsed_seconds(), CPU_WAVES, self._known
        )
        factor = np.maximum(factor, _LEAST_VARIATION) * self._coldness(rows)
        uncapped = usage["cpu_mean"][rows] * factor
        wanted = np.minimum(uncapped, usage["cpu_limit"][rows])
        scale = self._speed()
        given = nodes.offered[0, :count] * np.minimum(scale, self._set.cpu_cap)
        served = self.serving.demands(self._world.config.scrape_seconds)
        if served is not None:
            wanted[np.searchsorted(rows, served[0])] = 0.0
        asked = node_sums(node, wanted, count) * scale
        if served is None:
            part = np.minimum(1.0, given / np.maximum(asked, 1e-9))
        else:
            part = shared_parts(given, asked, usage.node[served[0]], *served[1:], scale)
        self._rates = scale * part
        usage["rate"][rows] = self._rates[node]
        usage["cpu_now"][rows] = given_now = wanted * self._rates[node]
        usage["share"][rows] = given_now / np.maximum(uncapped, 1e-9)
        if served is not None:
            self._grant_served(*served)

    def _grant_served(self, rows: Any, demand: Any, ceiling: Any) -> None:
        """Set what pods use that serve requests: what these need, at most what all workers can."""
        usage = self._usage
        used = np.minimum(demand, ceiling * usage["rate"][rows])
        usage["cpu_now"][rows] = usage["share"][rows] = 0.0
        np.add.at(usage["cpu_now"], rows, used)
        np.add.at(usage["share"], rows, demand)
        asked = usage["share"][rows]
        usage["share"][rows] = np.where(
            asked > 0.0, usage["cpu_now"][rows] / np.maximum(asked, 1e-9), 1.0
        )

    def _coldness(self, rows: Any) -> Floats:
        """Return how much more CPU each pod wants for having started a moment ago."""
        usage, most = self._usage, self._world.config.health.warm_cpu_ratio
        age = self._world.now - usage["started_at"][rows]
        warm_seconds = usage["warm_seconds"][rows]
        left = np.maximum(0.0, warm_seconds - age) / np.maximum(warm_seconds, 1e-9)
        cold: Floats = 1.0 + (most - 1.0) * left
        return cold

    def _speed(self) -> Floats:
        """Return the speed of every node, by row."""
        scale, slow = self._set.clock_scale, self._impairments.speed_ratio
        if slow:
            scale = scale.copy()
            for name in sorted(slow):
                scale[self._nodes.row_of[name]] *= slow[name]
        return scale

    def _grant_memory(self, rows: Any) -> None:
        usage, nodes = self._usage, self._nodes
        count = nodes.count
        node = usage.node[rows]
        age = self._world.now - usage["started_at"][rows]
        warm = np.minimum(1.0, _COLD_RATIO + (1.0 - _COLD_RATIO) * age / _WARM_UP_SECONDS)
        wanted = usage["memory_mean"][rows] * warm
        wanted *= variation(
            self._draws, usage.key[rows], self._elapsed_seconds(), MEMORY_WAVES, self._known
        )
        wanted += usage["leak"][rows] * age
        held = wanted * self._set.memory_scale[node]
        if self._set.capped:
            total = node_sums(node, held, count)
            part = np.ones(count)
            for index in self._set.capped:
                room = nodes.settings[index].memory_cap_ratio * float(nodes.offered[1, index])
                part[index] = min(1.0, room / max(float(total[index]), 1.0))
            held = held * part[node]
        usage["memory_wanted"][rows] = wanted
        usage["memory_now"][rows] = held


def _clock_scale(asleep: bool, ratio: float) -> float:
    return min(ratio, SLEEP_CLOCK_SCALE) if asleep else ratio
