"""`Foresail/JobPlacement-v1`: which of ten jobs goes onto which of sixteen nodes, or none for a tick of 10 s.

Corrected against SKRueue's offline simulator: the scenario is played in evaluation, too; placing takes no time, so
nobody is bound to one job a tick; there is an action to wait; observations stay in their Box; figures have one scale
for all arms.
"""

from __future__ import annotations

from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from inputs.errors import InputError
from lab.learning.jobs import Amounts
from lab.learning.observation import SLOTS
from lab.learning.placement import HOUR_SECONDS, Choice, NodeCluster
from lab.learning.workloads.scenarios import (
    DAY_SECONDS,
    NODES,
    SCENARIOS,
    scenario_jobs,
    scenario_nodes,
)

TICK_SECONDS = 10.0
NODE_NUMBERS, JOB_NUMBERS = 3, 6
MOST_SEED = 2**31 - 1
MOST_PRIORITY, LONG_QUEUE = 10, 100
PLACED, WAIT, PACKED, BALANCED, PRIORITY = 0.1, 0.2, 0.3, 0.2, 0.01
INVALID, FAILED = -0.1, -0.5


class JobPlacementEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """One day of one scenario; action = slot x 16 + node, the last waits."""

    metadata = {"render_modes": []}

    def __init__(
        self,
        scenario: str = "normal_load",
        *,
        slots: int = SLOTS,
        length_seconds: float = DAY_SECONDS,
    ) -> None:
        """Choose a scenario, how many jobs actions can name, and when an episode is cut.

        Raises:
            InputError: there is no such scenario.
        """
        if scenario not in SCENARIOS:
            raise InputError("scenario", scenario, f"use one of {', '.join(SCENARIOS)}")
        self.scenario, self.slots, self.length_seconds = SCENARIOS[scenario], slots, length_seconds
        numbers = 2 + NODE_NUMBERS * len(NODES) + JOB_NUMBERS * slots
        self.observation_space = Box(0.0, 1.0, (numbers,), np.float32)
        self.action_space = Discrete(slots * len(NODES) + 1)
        self.cluster: NodeCluster

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin a day; `options={"stream_seed": 7}` plays that one."""
        super().reset(seed=seed)
        drawn = int((options or {}).get("stream_seed", self.np_random.integers(MOST_SEED)))
        jobs = scenario_jobs(self.scenario, drawn, self.length_seconds)
        self.cluster = NodeCluster(jobs, scenario_nodes(self.scenario))
        self._pass_quiet_time()
        return self._observation(), self.cluster.figures()

    def step(
        self, action: int
    ) -> tuple[NDArray[np.float32], SupportsFloat, bool, bool, dict[str, Any]]:
        """Place a job and go on at the same moment, or let a tick pass."""
        cluster, choice = self.cluster, self.choice_of(int(action))
        reward, index = 0.0, None
        if choice is not None:
            index = cluster.place(choice)
            reward = INVALID if index is None else self._worth(index, choice[1])
        if index is None:
            reward += FAILED * cluster.advance(cluster.now + TICK_SECONDS)
        reward += FAILED * self._pass_quiet_time()
        cut = cluster.now >= self.length_seconds
        return self._observation(), reward, False, cut, cluster.figures()

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions would do what they say; waiting always does."""
        cluster, mask = self.cluster, np.zeros(self.slots * len(NODES) + 1, np.bool_)
        for place, index in enumerate(cluster.queue[: self.slots]):
            for node in range(len(NODES)):
                mask[place * len(NODES) + node] = cluster.fits(index, node)
        mask[-1] = True
        return mask

    def choice_of(self, action: int) -> Choice | None:
        """Return slot and node of an action; None for waiting, or what is out of range."""
        in_range = 0 <= action < self.slots * len(NODES)
        return divmod(action, len(NODES)) if in_range else None

    def action_of(self, choice: Choice | None) -> int:
        """Return the action of a placement, which a rule has chosen."""
        return self.slots * len(NODES) if choice is None else choice[0] * len(NODES) + choice[1]

    def _worth(self, index: int, node: int) -> float:
        cluster, job = self.cluster, self.cluster.jobs[index]
        waited = WAIT * cluster.wait_seconds(index) / HOUR_SECONDS
        spread = BALANCED * (1 - cluster.imbalance())
        return PLACED - waited + PACKED * cluster.used_cpu(node) + spread + PRIORITY * job.priority

    def _pass_quiet_time(self) -> int:
        """Let ticks pass as long as nobody waits; return how many jobs failed in them."""
        cluster, failed = self.cluster, 0
        while not cluster.queue and cluster.now < self.length_seconds:
            failed += cluster.advance(cluster.now + TICK_SECONDS)
        return failed

    def _observation(self) -> NDArray[np.float32]:
        """Time of day, queue; cpu, memory and GPUs free by node; requests, priority, wait, estimate by slot."""
        cluster, largest = self.cluster, NODES[0]
        seen = [cluster.now / self.length_seconds, len(cluster.queue) / LONG_QUEUE]
        for free, node in zip(cluster.free, cluster.nodes, strict=True):
            seen += _shares(free, node)
        for index in cluster.queue[: self.slots]:
            job = cluster.jobs[index]
            seen += _shares(job.requests, largest)
            seen += [
                job.priority / MOST_PRIORITY,
                cluster.wait_seconds(index) / HOUR_SECONDS,
                job.estimate_seconds / (2 * HOUR_SECONDS),
            ]
        room = np.zeros(self.observation_space.shape or (), np.float32)
        room[: len(seen)] = np.clip(seen, 0.0, 1.0)
        return room


def _shares(part: Amounts, whole: Amounts) -> list[float]:
    return [
        part.cpu_millicores / (whole.cpu_millicores or 1),
        part.memory_bytes / (whole.memory_bytes or 1),
        part.gpus / (whole.gpus or 1),
    ]
