"""Weights as one vector, which a search changes, and as the network that plays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from lab.learning.backend import Backend
from lab.learning.baselines.play import play
from lab.learning.baselines.rules import rule_of
from lab.learning.jobs import JobStream
from lab.learning.observation import WIDE_CLUSTER_NUMBERS, WIDE_JOB_NUMBERS, wide_observation
from lab.learning.search.playing import Scorer
from lab.learning.simulator import Cluster

Floats = npt.NDArray[np.float64]
ESTIMATE = 5
"""Place of a job's estimate among its numbers."""
SHOWN_STREAMS = 4
SMALL = 0.1
"""Deviation of the weights that a search begins with."""
HEIGHT = 2.0
"""Score of a job of no time where it begins; waiting has 0."""


def weight_count(units: int) -> int:
    """Return how many weights a network with so many hidden units has."""
    return units * (WIDE_CLUSTER_NUMBERS + WIDE_JOB_NUMBERS + 2) + 1


def scorer_of(weights: Floats, units: int) -> Scorer:
    """Return the vector's network; its arrays are views."""
    ends = np.cumsum([units * WIDE_CLUSTER_NUMBERS, units * WIDE_JOB_NUMBERS, units, units])
    of_cluster, of_job, bias, out, out_bias = np.split(weights, ends)
    return Scorer(of_cluster.reshape(units, -1), of_job.reshape(units, -1), bias, out, out_bias)


def first_weights(units: int, random: np.random.Generator) -> Floats:  # noqa: TID251 - a type
    """Return where a search begins: the shortest job first, whoever fits, beside small random weights."""
    weights = random.normal(0.0, SMALL, weight_count(units))
    scorer = scorer_of(weights, units)
    scorer.of_job[0, ESTIMATE] = 1.0
    scorer.out[0], scorer.out_bias[0] = -HEIGHT, HEIGHT
    return weights


def searched_weights(
    streams: Sequence[JobStream], rule: str, slots: int, units: int
) -> npt.NDArray[np.int64]:
    """Return the places of the weights that make a difference.

    Numbers that are the same in all that a rule meets on some streams, or always another's, are left out: GPUs where
    there are none, memory where it comes with the cores.
    """
    seen = np.array(
        [row for stream in streams[:SHOWN_STREAMS] for row in _met(stream, rule, slots)]
    )
    differing: list[int] = []
    for number in np.flatnonzero(np.ptp(seen, axis=0) > 0.0).tolist():
        if not any(np.array_equal(seen[:, number], seen[:, other]) for other in differing):
            differing.append(number)
    used = np.zeros(WIDE_CLUSTER_NUMBERS + WIDE_JOB_NUMBERS, np.bool_)
    used[differing] = True
    marks = [
        np.tile(used[:WIDE_CLUSTER_NUMBERS], units), np.tile(used[WIDE_CLUSTER_NUMBERS:], units),
        np.ones(2 * units + 1, np.bool_),
    ]  # fmt: skip
    places: npt.NDArray[np.int64] = np.flatnonzero(np.concatenate(marks))
    return places


def _met(stream: JobStream, rule: str, slots: int) -> Iterator[npt.NDArray[np.float32]]:
    """Yield the cluster's and the job's numbers of each job that fits, whenever the rule is asked."""
    rows: list[npt.NDArray[np.float32]] = []
    decide = rule_of(rule)

    def watched(cluster: Backend) -> int | None:
        seen = wide_observation(cluster, slots)
        jobs = seen[WIDE_CLUSTER_NUMBERS:].reshape(slots, -1)
        rows.extend(
            np.concatenate([seen[:WIDE_CLUSTER_NUMBERS], jobs[slot]])
            for slot, index in enumerate(cluster.slots(slots))
            if cluster.fits(index)
        )
        return decide(cluster)

    play(Cluster(stream), watched)
    return iter(rows)
