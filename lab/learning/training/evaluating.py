"""Evaluations of a learner while it learns: all episodes of the development split side by side, where that is possible.

One observation at a time, a network's answer costs a third of a millisecond, nearly all of it the framework's own; for
twenty episodes at once it costs hardly more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from lab.learning.evaluation.episodes import Episode, Policy, play
from lab.learning.fast.clusters import FastClusters
from lab.learning.libraries import library
from lab.learning.observation import HIDDEN, hidden_places
from lab.learning.training.environments import ADMISSION, make_environment, on_split, own_arguments
from lab.learning.training.fast_vector import MOST_SEED
from lab.learning.training.plan import Plan


class Development:
    """The development split of a plan; its streams are drawn once."""

    def __init__(self, plan: Plan, seeds: Sequence[int]) -> None:
        """Take a plan, and a seed for each episode."""
        self._plan, self._seeds = plan, seeds
        own = on_split(plan.environment, plan.arguments, "development")
        self._arguments = {**own, **plan.development}
        self._clusters: FastClusters | None = None

    def episodes(self, policy: Policy) -> list[Episode]:
        """Return what a policy makes of each episode; the same whether they are played together or not."""
        plan = self._plan
        if plan.environment == ADMISSION:
            return self._together(policy)
        environment = lambda: make_environment(plan.environment, self._arguments)  # noqa: E731
        return list(play(policy, environment, self._seeds, masked=plan.masked))

    def _together(self, policy: Policy) -> list[Episode]:
        hidden = hidden_places(self._arguments)
        clusters = self._clusters = self._clusters or self._made()
        count = len(self._seeds)
        totals, lengths = np.zeros(count), np.zeros(count, np.int64)
        playing = np.ones(count, np.bool_)
        seen, masks = clusters.reset()
        while playing.any():
            shown = seen.copy()
            shown[:, hidden] = 0.0
            outputs = clusters.step(policy.choose(shown, masks if self._plan.masked else None))
            totals[playing] += outputs.rewards[playing]
            lengths[playing] += 1
            playing &= ~(outputs.terminated | outputs.truncated)
        return [
            Episode(seed, float(total), int(length))
            for seed, total, length in zip(self._seeds, totals, lengths, strict=True)
        ]

    def _made(self) -> FastClusters:
        """Return a cluster for each episode, with the stream that the environment would draw from its seed."""
        made_with: dict[str, Any] = own_arguments(self._arguments)
        source = made_with.pop("workload")
        made_with.pop(HIDDEN, None)
        seeding = library("gymnasium.utils.seeding")
        streams = [
            source(int(seeding.np_random(seed)[0].integers(MOST_SEED))) for seed in self._seeds
        ]
        return FastClusters(streams, len(streams), **made_with)
