"""Many clusters that step together, as one environment of training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.learning.episodes import SCORE_RULES, SKRUEUE_RULES, VARIANTS, Rules, Variant
from lab.learning.fast.arrays import (
    Outputs,
    Settings,
    empty_clusters,
    empty_outputs,
    pack_streams,
)
from lab.learning.fast.stepping import start_all, step_all
from lab.learning.jobs import JobStream
from lab.learning.observation import SKRUEUE_NUMBERS, SLOTS, wide_numbers
from lab.learning.rewards import HELD_PRICES, HOUR_SECONDS, MONEY, REWARDS, Reward
from projections.score.prices import ScorePrices


class FastClusters:
    """`Foresail/KueueAdmission-v1` many times: the same observations, masks, rewards and ends.

    Cluster c plays the streams c, c + clusters, c + 2 x clusters and so on, round and round; where an episode ends, the
    next one begins within the same step, and `outputs.final_observations` has what was seen at its end.
    """

    def __init__(
        self,
        streams: Sequence[JobStream],
        clusters: int,
        variant: Variant = "skrueue",
        *,
        slots: int = SLOTS,
        reward: Reward | None = None,
        rules: Rules | None = None,
        prices: ScorePrices | None = None,
        work_conserving: bool = False,
    ) -> None:
        """Choose as in `KueueAdmissionEnv`; `streams` are at least one."""
        self.variant, self.slots, self.count = variant, slots, clusters
        self.numbers = SKRUEUE_NUMBERS if variant == "skrueue" else wide_numbers(slots)
        self._settings = settings_of(
            variant, slots=slots, reward=reward, rules=rules, prices=prices,
            work_conserving=work_conserving,
        )  # fmt: skip
        self._streams = pack_streams(streams)
        self.state = empty_clusters(clusters, self._streams.arrival.shape[1], slots)
        self.state.stream[:] %= len(streams)
        self.outputs: Outputs = empty_outputs(clusters, self.numbers, slots + 1)
        self._no_actions = np.zeros(clusters, np.int64)
        self._no_priorities = np.zeros((clusters, slots), np.float32)

    def reset(self) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """Begin every cluster's first stream; return observations and masks, which later steps overwrite."""
        self.state.stream[:] = np.arange(self.count) % len(self._streams.job_count)
        start_all(self._streams, self.state, self._settings, self.outputs)
        return self.outputs.observations, self.outputs.masks

    def step(self, actions: NDArray[Any]) -> Outputs:
        """Step all clusters; actions are (clusters,) slots, or (clusters, slots) priorities of `continuous`.

        Return the same arrays each time, overwritten: copy what is to be kept.
        """
        numbers, priorities = self._no_actions, self._no_priorities
        if self.variant == "continuous":
            priorities = np.array(actions, dtype=np.float32)
        else:
            numbers = np.ascontiguousarray(actions, dtype=np.int64)
        step_all(self._streams, self.state, self._settings, self.outputs, numbers, priorities)
        return self.outputs


def settings_of(
    variant: Variant,
    *,
    slots: int = SLOTS,
    reward: Reward | None = None,
    rules: Rules | None = None,
    prices: ScorePrices | None = None,
    work_conserving: bool = False,
) -> Settings:
    """Return as numbers what `KueueAdmissionEnv` is made with."""
    paid = reward or ("skrueue" if variant == "skrueue" else "score")
    chosen = rules or (SKRUEUE_RULES if variant == "skrueue" else SCORE_RULES)
    priced = HELD_PRICES if paid == "held" else prices or ScorePrices()
    return Settings(
        variant=VARIANTS.index(variant),
        reward=REWARDS.index("score" if paid in MONEY else paid),
        slots=slots,
        step_seconds=chosen.step_seconds or 0.0,
        most_steps=chosen.most_steps,
        most_seconds=chosen.most_seconds,
        least_steps=chosen.least_steps,
        held_price=priced.held_pod_hour / HOUR_SECONDS,
        done_price=priced.job_cpu_hour_done / HOUR_SECONDS,
        lost_price=priced.job_cpu_hour_lost / HOUR_SECONDS,
        completed_price=priced.job_completed,
        failed_price=priced.job_failed,
        work_conserving=work_conserving,
    )
