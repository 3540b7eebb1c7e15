"""Whole streams played by a small network that scores jobs, compiled: some thousand streams a second.

The network is that of `training.slot_network` with one hidden layer: every job that fits is scored by its own numbers
and the cluster's, waiting is scored 0, and the best is done.
"""

from __future__ import annotations

from math import inf
from typing import NamedTuple

from lab.learning.fast.arrays import Array, Clusters, Settings, Streams
from lab.learning.fast.compiling import compiled
from lab.learning.fast.events import admit, fits, next_event, pass_time
from lab.learning.fast.seeing import bounded, observe_cluster, observe_job
from lab.learning.fast.stepping import start_episode

SLOWDOWN, WAIT, LONGEST = range(3)
FIGURES = 3
"""Of a stream: mean bounded slowdown, mean wait and longest wait in seconds, of all its jobs."""


class Scorer(NamedTuple):
    """One hidden layer of rectified units, then one score."""

    of_cluster: Array
    """(units, cluster's numbers)."""
    of_job: Array
    """(units, a job's numbers)."""
    bias: Array
    """(units,)."""
    out: Array
    """(units,)."""
    out_bias: Array
    """(1,)."""


class Room(NamedTuple):
    """Where one thread writes: numba's code here makes no arrays."""

    cluster: Array
    job: Array
    hidden: Array
    """What the cluster's numbers and the bias bring to each unit."""


@compiled
def best_slot(
    streams: Streams, clusters: Clusters, settings: Settings, c: int, scorer: Scorer, room: Room
) -> int:
    """Return the slot to admit; -1: wait. Somebody fits."""
    room.cluster[:] = 0.0
    observe_cluster(streams, clusters, c, settings.slots, room.cluster)
    units = len(scorer.bias)
    for unit in range(units):
        total = scorer.bias[unit]
        for number in range(len(room.cluster)):
            total += scorer.of_cluster[unit, number] * room.cluster[number]
        room.hidden[unit] = total
    may_wait = not settings.work_conserving and next_event(streams, clusters, c) != inf
    best, most = -1, 0.0 if may_wait else -inf
    for slot in range(min(settings.slots, clusters.queued[c])):
        if not fits(streams, clusters, c, clusters.queue[c, slot]):
            continue
        observe_job(streams, clusters, c, slot, room.job)
        score = scorer.out_bias[0]
        for unit in range(units):
            total = room.hidden[unit]
            for number in range(len(room.job)):
                total += scorer.of_job[unit, number] * room.job[number]
            if total > 0.0:
                score += scorer.out[unit] * total
        if score > most or (best < 0 and score == most):
            best, most = slot, score
    return best


@compiled
def play_out(
    streams: Streams,
    clusters: Clusters,
    settings: Settings,
    c: int,
    scorer: Scorer,
    room: Room,
    figures: Array,
) -> None:
    """Play cluster `c`'s stream to its end and write its figures."""
    start_episode(streams, clusters, settings, c)
    while clusters.queued[c] > 0:  # `pass_time` stops where somebody fits, or at the end
        slot = best_slot(streams, clusters, settings, c, scorer, room)
        if slot >= 0:
            admit(streams, clusters, c, slot)
        pass_time(streams, clusters, settings, c, slot < 0)
    _measure(streams, clusters, c, figures)


@compiled
def _measure(streams: Streams, clusters: Clusters, c: int, figures: Array) -> None:
    stream = clusters.stream[c]
    count = streams.job_count[stream]
    figures[:] = 0.0
    for job in range(count):
        wait = clusters.start[c, job] - streams.arrival[stream, job]
        figures[SLOWDOWN] += bounded(wait, streams.running[stream, job]) / count
        figures[WAIT] += wait / count
        figures[LONGEST] = max(figures[LONGEST], wait)


@compiled
def play_all(
    streams: Streams,
    clusters: Clusters,
    settings: Settings,
    chosen: Array,
    c: int,
    scorer: Scorer,
    room: Room,
    figures: Array,
) -> None:
    """Play the chosen streams one after the other in cluster `c`; figures are (chosen, FIGURES)."""
    for place in range(len(chosen)):
        clusters.stream[c] = chosen[place]
        play_out(streams, clusters, settings, c, scorer, room, figures[place])
