"""`Foresail/KueueAdmission-v1`: which of the first jobs in a queue of Kueue is admitted now, or none.

Variants: `skrueue` has SKRueue's 67 numbers, 11 actions, reward, step and ends; `score` sees the whole queue, is paid
by our experiment score and lasts until every job has ended; `continuous` gives each slot a priority, as SAC and TD3 do.
"""

from __future__ import annotations

from math import inf
from typing import Any, SupportsFloat

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from numpy.typing import NDArray

from inputs.errors import InputError
from lab.learning import observation as seeing
from lab.learning.backend import Backend, MakeBackend
from lab.learning.episodes import SCORE_RULES, SKRUEUE_RULES, VARIANTS, Rules, Variant
from lab.learning.jobs import utilization
from lab.learning.rewards import (
    HELD_PRICES,
    MONEY,
    Reward,
    ScoreReward,
    skrueue_reward,
    slowdown_reward,
)
from lab.learning.simulator import Cluster, count_states
from lab.learning.workloads.sources import StreamSource, stream_source
from projections.score.prices import ScorePrices

MOST_SEED = 2**31 - 1


class KueueAdmissionEnv(gymnasium.Env[NDArray[np.float32], Any]):
    """One cluster, one stream of jobs an episode; the last action is to wait."""

    metadata = {"render_modes": []}

    def __init__(
        self,
        variant: Variant = "skrueue",
        workload: str | StreamSource = "uniform",
        *,
        slots: int = seeing.SLOTS,
        reward: Reward | None = None,
        rules: Rules | None = None,
        make_backend: MakeBackend = Cluster,
        prices: ScorePrices | None = None,
        work_conserving: bool = False,
    ) -> None:
        """Choose what is seen, played and paid.

        Args:
            variant: see the module.
            workload: the name of a source, or a source: a stream from a seed.
            slots: jobs at the head of the queue that actions can name; `skrueue` has ten.
            reward: unset: SKRueue's for `skrueue`, else the experiment score's.
            rules: unset: the variant's.
            make_backend: what plays the jobs.
            prices: of the reward `score`; unset: the product's.
            work_conserving: whether the mask forbids to wait while one of the slots' jobs fits.

        Raises:
            InputError: there is no such variant or workload, or `skrueue` is to have other than ten slots.
        """
        if variant not in VARIANTS:
            raise InputError("variant", variant, f"use one of {', '.join(VARIANTS)}")
        if variant == "skrueue" and slots != seeing.SLOTS:
            raise InputError("slots", slots, "skrueue has ten; use the variant score for more")
        self.variant, self.slots = variant, slots
        self.rules = rules or (SKRUEUE_RULES if variant == "skrueue" else SCORE_RULES)
        self._paid_by: Reward = reward or ("skrueue" if variant == "skrueue" else "score")
        self._source = stream_source(workload) if isinstance(workload, str) else workload
        self._make_backend = make_backend
        self._prices = HELD_PRICES if reward == "held" else prices or ScorePrices()
        self._work_conserving = work_conserving
        numbers = seeing.SKRUEUE_NUMBERS if variant == "skrueue" else seeing.wide_numbers(slots)
        self.observation_space = Box(0.0, 1.0, (numbers,), np.float32)
        self.action_space = (
            Box(-1.0, 1.0, (slots,), np.float32) if variant == "continuous" else Discrete(slots + 1)
        )
        self.cluster: Backend
        self._steps = 0

    # ---- Gymnasium's methods

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Begin an episode; `options={"stream_seed": 7}` plays that stream of the source."""
        super().reset(seed=seed)
        drawn = int(self.np_random.integers(MOST_SEED))
        stream = self._source(int((options or {}).get("stream_seed", drawn)))
        self.cluster = self._make_backend(stream)
        self._score = ScoreReward(self.cluster, self._prices)
        self._steps = 0
        self._pass_time(first=True)
        return self._observation(), self._info(None)

    def step(
        self, action: Any
    ) -> tuple[NDArray[np.float32], SupportsFloat, bool, bool, dict[str, Any]]:
        """Do what an action says and let time pass; out of range means wait."""
        cluster = self.cluster
        then, before = cluster.now, cluster.pending_count
        result = (
            self._admit_by_priority(np.asarray(action))
            if self.variant == "continuous"
            else self._admit(int(action))
        )
        self._steps += 1
        acted = (result["success"] and result["action_type"] == "admit") or self._admit_oldest()
        self._pass_time(waits=not acted or self.variant == "continuous")
        failed = not result["success"]
        terminated, truncated = self._ends()
        return (
            self._observation(),
            self._reward(then, before, failed=failed),
            terminated,
            truncated,
            self._info(result),
        )

    def action_masks(self) -> NDArray[np.bool_]:
        """Return which actions would do what they say (the convention of sb3-contrib)."""
        return seeing.action_mask(self.cluster, self.slots, self._work_conserving)

    # ---- acting

    def _admit(self, action: int) -> dict[str, Any]:
        slots = self.cluster.slots(self.slots)
        if not 0 <= action < self.slots:
            return _result("wait", None, success=True)
        if action >= len(slots):
            return _result("admit", None, success=False)
        index = slots[action]
        return _result("admit", self.cluster.job(index).name, success=self.cluster.admit(index))

    def _admit_by_priority(self, priorities: NDArray[Any]) -> dict[str, Any]:
        """Admit all of the slots that fit, the highest priority first; one below 0 is held back."""
        slots = self.cluster.slots(self.slots)
        order = sorted(range(len(slots)), key=lambda slot: (-float(priorities[slot]), slot))
        names = [
            self.cluster.job(slots[slot]).name
            for slot in order
            if priorities[slot] >= 0 and self.cluster.admit(slots[slot])
        ]
        return _result("admit" if names else "wait", ",".join(names) or None, success=True)

    def _admit_oldest(self) -> bool:
        """Admit the first slot that fits where waiting would change nothing any more; say whether that was so.

        Else an episode would never end, and cost nothing: who learns without a mask would learn to stop there.
        """
        cluster = self.cluster
        if self.rules.step_seconds is not None or cluster.next_event_seconds() != inf:
            return False
        slots = cluster.slots(self.slots)
        return any(cluster.fits(index) and cluster.admit(index) for index in slots)

    def _pass_time(self, *, waits: bool = False, first: bool = False) -> None:
        cluster, step = self.cluster, self.rules.step_seconds
        if step is not None:
            if not first:
                cluster.advance(cluster.now + step)
            return
        if waits:
            self._to_next_event()
        # Where nothing can be admitted there is nothing to decide.
        while not self._has_choice() and not cluster.is_over:
            self._to_next_event()

    def _to_next_event(self) -> None:
        soonest = self.cluster.next_event_seconds()
        if soonest != inf:
            self.cluster.advance(soonest)

    def _has_choice(self) -> bool:
        return any(self.cluster.fits(index) for index in self.cluster.slots(self.slots))

    # ---- what comes of it

    def _ends(self) -> tuple[bool, bool]:
        cluster, rules = self.cluster, self.rules
        if rules.step_seconds is None:
            terminated = cluster.is_over
        else:
            terminated = not cluster.pending_count and self._steps > rules.least_steps
        truncated = self._steps >= rules.most_steps or cluster.now >= rules.most_seconds
        return terminated, truncated and not terminated

    def _reward(self, then: float, before: int, *, failed: bool) -> float:
        if self._paid_by == "skrueue":
            return skrueue_reward(self.cluster, before, failed=failed)
        if self._paid_by in MONEY:
            return self._score.since(then)
        return slowdown_reward(self.cluster, then, aged=self._paid_by == "aged")

    def _observation(self) -> NDArray[np.float32]:
        if self.variant == "skrueue":
            return seeing.skrueue_observation(self.cluster)
        return seeing.wide_observation(self.cluster, self.slots)

    def _info(self, result: dict[str, Any] | None) -> dict[str, Any]:
        """Return SKRueue's fields, corrected: completed jobs are those that have run to their end."""
        cluster = self.cluster
        started = list(cluster.admitted)
        states = count_states(cluster.records)
        cpu, memory = utilization(cluster.quota, cluster.free)
        return {
            "step_count": self._steps,
            "queue_length": cluster.pending_count,
            "cluster_utilization": (cpu + memory) / 2,
            "metrics": {
                "completed_jobs": states["completed"],
                "failed_jobs": states["failed"],
                "total_wait_time": sum(cluster.wait_seconds(index) for index in started),
                "total_execution_time": sum(
                    min(cluster.now, cluster.records[index].end_seconds)
                    - cluster.records[index].start_seconds
                    for index in started
                ),
            },
            "states": states,
            "now_seconds": cluster.now,
            "action_result": result,
        }


def _result(action_type: str, job_name: str | None, *, success: bool) -> dict[str, Any]:
    return {"success": success, "action_type": action_type, "job_name": job_name}
