"""What candidates and a rule make of streams, and what a candidate costs beside the rule."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from lab.learning.baselines.play import play
from lab.learning.baselines.rules import rule_of
from lab.learning.comparison.benchmark import mean_slowdown
from lab.learning.fast.arrays import empty_clusters, pack_streams
from lab.learning.fast.clusters import settings_of
from lab.learning.jobs import JobStream
from lab.learning.observation import WIDE_CLUSTER_NUMBERS, WIDE_JOB_NUMBERS
from lab.learning.search.playing import FIGURES, LONGEST, SLOWDOWN, WAIT, Room, play_all
from lab.learning.search.scoring import Floats, scorer_of
from lab.learning.simulator import Cluster

CHARGE = 5.0
"""For a mean or a longest wait of twice the rule's, in units of the rule's slowdown."""


class Players:
    """Streams, packed once, and a cluster for each thread."""

    def __init__(
        self, streams: Sequence[JobStream], rule: str, slots: int, units: int, threads: int
    ) -> None:
        """Play the rule on all of them."""
        self.rule = rule_figures(streams, rule)
        self._streams, self._units = pack_streams(streams), units
        self._settings = settings_of("score", slots=slots)
        self._clusters = empty_clusters(threads, self._streams.arrival.shape[1], slots)
        self._rooms = [
            Room(
                np.zeros(WIDE_CLUSTER_NUMBERS, np.float32),
                np.zeros(WIDE_JOB_NUMBERS, np.float32),
                np.zeros(units),
            )
            for _ in range(threads)
        ]

    def figures(
        self, candidates: Sequence[Floats], chosen: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.float64]:
        """Return what candidates make of the chosen streams, (candidates, chosen, FIGURES).

        Threads share the candidates; what comes of it is the same for any number of threads.
        """
        made = np.zeros((len(candidates), len(chosen), FIGURES))
        threads = len(self._rooms)

        def work(thread: int) -> None:
            for place in range(thread, len(candidates), threads):
                scorer = scorer_of(candidates[place], self._units)
                play_all(
                    self._streams, self._clusters, self._settings, chosen, thread, scorer,
                    self._rooms[thread], made[place],
                )  # fmt: skip

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, range(threads)))
        return made


def rule_figures(streams: Sequence[JobStream], rule: str) -> Floats:
    """Return what a rule makes of streams, (streams, FIGURES)."""
    made = np.zeros((len(streams), FIGURES))
    for place, stream in enumerate(streams):
        cluster = Cluster(stream)
        result = play(cluster, rule_of(rule))
        made[place, SLOWDOWN] = mean_slowdown(cluster)
        made[place, WAIT] = result.mean_wait_seconds
        made[place, LONGEST] = result.largest_wait_seconds
    return made


def cost(figures: Floats, rule: Floats) -> float:
    """Return a candidate's slowdown over the rule's, plus a charge where its jobs wait longer; the rule costs 1.

    Args:
        figures: (streams, FIGURES).
        rule: the same of the rule on the same streams.
    """
    ratio = figures.mean(axis=0) / rule.mean(axis=0)
    over = np.maximum(0.0, ratio[[WAIT, LONGEST]] - 1.0)
    return float(ratio[SLOWDOWN] + CHARGE * over.sum())
