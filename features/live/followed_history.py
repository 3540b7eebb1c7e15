"""Values of an observation for each series, and the fold of all that the log says of them.

Series are `service/<namespace>/<name>` (requests offered a second: those that failed, were lost or refused were
wanted, too), `cpu/<workload>` (cores used) and `memory/<workload>` (bytes used) of `<namespace>/<kind>/<name>`, and
`nodes/<cores>-cores-<GiB>-gib` and `nodes/all` (cores requested on machines of one size, and on all).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from features.live.history_blocks import Written, merge_block
from features.live.machine_sizes import requested_cores
from features.workload_history.grid import SOURCES, STEP_SECONDS, step_at
from features.workload_history.history import WorkloadHistory, advance, merge, push_step
from features.workload_history.sums import NO_STEPS, OpenSteps, add_levels, add_rates, close_steps
from schemas.history import HistoryBlock, HistoryFilled
from schemas.snapshot import SnapshotUsage
from schemas.view import ObservationView

HELD_LOOKS, HELD_SECONDS = 2.5, 60.0
"""Requests since a look that is further back, in cycles and in cluster seconds, are those of a gap: nobody knows
whether all of them were counted (`services.collector.request_counters`).
"""


@dataclass(frozen=True, slots=True, eq=False)
class FollowedHistory:
    """The history after an event of the log, and what the next one is compared with."""

    history: WorkloadHistory = field(default_factory=WorkloadHistory)
    steps: OpenSteps = NO_STEPS
    requests: Mapping[str, float] = field(default_factory=dict)
    """By Service its requests so far, at the newest look."""
    seen_seconds: float | None = None
    """Cluster time of the newest look; None before any."""
    written: Mapping[int, Written] = field(default_factory=dict)
    """By number of a chunk its newest block in the log."""


def after_observation(followed: FollowedHistory, view: ObservationView) -> FollowedHistory:
    """Return the history after an observation; signals that are missing add no value."""
    now, before = view.cluster_time_seconds, followed.seen_seconds
    if before is not None and now <= before:
        return followed
    steps, requests = steps_after(followed.steps, followed.requests, before, view)
    return _closed(replace(followed, steps=steps, requests=requests, seen_seconds=now), now)


def steps_after(
    steps: OpenSteps, before: Mapping[str, float], seen_seconds: float | None, view: ObservationView
) -> tuple[OpenSteps, Mapping[str, float]]:
    """Return the steps, none closed, after an observation, and by Service its requests so far.

    Args:
        steps: those before.
        before: the requests of each Service at the look before.
        seen_seconds: cluster time of that look, before this one; None without any.
        view: the observation.
    """
    now, requests = view.cluster_time_seconds, _requests(view)
    held = max(HELD_LOOKS * view.interval_seconds, HELD_SECONDS)
    if seen_seconds is not None and now - seen_seconds <= held:
        rates = _rates(before, requests, now - seen_seconds)
        steps = add_rates(steps, seen_seconds, now, rates)
    return add_levels(steps, now, requested_cores(view)), requests


def after_usage(followed: FollowedHistory, usage: SnapshotUsage) -> FollowedHistory:
    """Return the history after what workloads were seen to use."""
    now, table = usage.cluster_time_seconds, usage.workloads
    levels = {}
    for name, cores, size in zip(
        table.ids, table.cpu_used_cores, table.memory_used_bytes, strict=True
    ):
        levels[f"cpu/{name}"] = cores
        levels[f"memory/{name}"] = float(size)
    return replace(followed, steps=add_levels(followed.steps, now, levels))


def after_filling(followed: FollowedHistory, filled: HistoryFilled) -> FollowedHistory:
    """Return the history after something was filled in for steps that were over by then."""
    now = step_at(filled.cluster_time_seconds)
    first = step_at(filled.start_time_seconds)
    names = tuple(one.id for one in filled.series)
    values = np.array(
        [[math.nan if value is None else value for value in one.values] for one in filled.series],
        dtype=np.float64,
    )
    history = advance(followed.history, now)
    history = merge(
        history, names, first, values[:, : max(0, now - first)], SOURCES.index(filled.source)
    )
    return replace(followed, history=history)


def after_block(followed: FollowedHistory, block: HistoryBlock) -> FollowedHistory:
    """Return the history after a block that was read from the log.

    Raises:
        ValueError: it does not hold what it says.
    """
    history = merge_block(followed.history, block)
    newest = Written(round(block.known_until_seconds / STEP_SECONDS), block.cycle)
    known = {chunk.number for chunk in history.chunks}
    written = {number: one for number, one in followed.written.items() if number in known}
    return replace(followed, history=history, written={**written, block.block: newest})


def _closed(followed: FollowedHistory, now: float) -> FollowedHistory:
    steps, ended = close_steps(followed.steps, now)
    history = followed.history
    for step, means in ended.items():
        history = push_step(history, step, means)
    return replace(followed, steps=steps, history=advance(history, step_at(now)))


def _requests(view: ObservationView) -> dict[str, float]:
    counters = () if view.work is None else view.work.services or ()
    return {one.service: one.served + one.failed + one.lost for one in counters}


def _rates(
    before: Mapping[str, float], now: Mapping[str, float], elapsed: float
) -> dict[str, float]:
    return {
        f"service/{name}": (count - before[name]) / elapsed
        for name, count in now.items()
        if count >= before.get(name, math.inf)  # fewer: they began anew
    }
