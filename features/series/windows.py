"""The bounded state of n series, pushed window by window.

The problem: live, usage arrives once per cycle and a feature row needs a day of five-minute
windows. Guarantee: the state holds a fixed number of windows per series, and its `past` after any
run of pushes equals what training cuts out of the whole series.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from features.series.features import HOUR_WINDOWS, RECENT_WINDOWS, WEEK_HOURS, SeriesPast
from features.series.quantiles import Floats
from features.series.rules import DAY_WINDOWS, WINDOW_SECONDS, row_max

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SeriesState:
    """State of each series: a day and two hours of windows, a week of hourly peaks.

    `next_step` counts windows since the epoch of cluster time: the first window not yet pushed.
    """

    ids: tuple[str, ...]
    next_step: int
    recent: Floats
    hours: Floats

    def past(self, capacity: float = math.nan) -> SeriesPast:
        """Return what features are made of, at the origin `next_step`.

        `capacity` is what no usage can exceed: 1 where usage is a ratio of it.
        """
        step_of_day = np.full(len(self.ids), float(self.next_step % DAY_WINDOWS))
        return SeriesPast(self.recent, self.hours, step_of_day, np.full(len(self.ids), capacity))


@dataclass(frozen=True, slots=True)
class OpenWindow:
    """The running five-minute window: sums and counts of what was seen in it so far."""

    step: int
    totals: dict[str, float]
    counts: dict[str, int]


def empty_state(next_step: int, ids: Sequence[str] = ()) -> SeriesState:
    """Return a state that knows nothing before `next_step`."""
    rows = len(ids)
    return SeriesState(
        tuple(ids),
        next_step,
        np.full((rows, RECENT_WINDOWS), np.nan),
        np.full((rows, WEEK_HOURS), np.nan),
    )


def align_series(state: SeriesState, ids: Sequence[str]) -> SeriesState:
    """Return the state with exactly these series: new ones know nothing, missing ones are gone."""
    new_ids = tuple(ids)
    if new_ids == state.ids:
        return state
    row_of = {name: row for row, name in enumerate(state.ids)}
    fresh = empty_state(state.next_step, new_ids)
    kept_rows = [(row, row_of[name]) for row, name in enumerate(new_ids) if name in row_of]
    if kept_rows:
        to, origin = (list(side) for side in zip(*kept_rows, strict=True))
        fresh.recent[to], fresh.hours[to] = state.recent[origin], state.hours[origin]
    return fresh


def push_window(state: SeriesState, values: Floats, step: int) -> SeriesState:
    """Return the state after window `step`: `values` is (n,) usage, NaN where missing.

    Windows that were skipped are missing ones.

    Raises:
        ValueError: `step` was pushed before.
    """
    if step < state.next_step:
        raise ValueError(f"window {step} was pushed before; the next one is {state.next_step}")
    if step - state.next_step >= RECENT_WINDOWS + WEEK_HOURS * HOUR_WINDOWS:
        state = empty_state(step, state.ids)
    while state.next_step < step:
        state = _one(state, np.full(len(state.ids), np.nan))
    return _one(state, values)


def _one(state: SeriesState, values: Floats) -> SeriesState:
    recent = np.concatenate([state.recent[:, 1:], values[:, None]], axis=1)
    after = replace(state, recent=recent, next_step=state.next_step + 1)
    if after.next_step % HOUR_WINDOWS:
        return after
    peak = row_max(recent[:, -HOUR_WINDOWS:])
    return replace(after, hours=np.concatenate([state.hours[:, 1:], peak[:, None]], axis=1))


def step_at(time_seconds: float) -> int:
    """Return the number of the window that holds this moment of cluster time."""
    return int(time_seconds // WINDOW_SECONDS)


def add_use(
    state: SeriesState, window: OpenWindow, time_seconds: float, usage: dict[str, float]
) -> tuple[SeriesState, OpenWindow]:
    """Return state and open window after `usage` (by series id) was seen at a moment.

    A moment in a later window first closes the open one: its means are pushed for the series of
    `usage`, which become the series of the state. A moment before the open window is ignored.
    """
    step = step_at(time_seconds)
    if step < window.step:
        return state, window
    if step > window.step:
        state = close_window(state, window, tuple(usage))
        window = OpenWindow(step, {}, {})
    totals, counts = dict(window.totals), dict(window.counts)
    for name, value in usage.items():
        totals[name] = totals.get(name, 0.0) + value
        counts[name] = counts.get(name, 0) + 1
    return state, OpenWindow(step, totals, counts)


def close_window(state: SeriesState, window: OpenWindow, ids: Sequence[str]) -> SeriesState:
    """Return the state with the open window pushed; a window pushed before is left out."""
    state = align_series(state, ids)
    if window.step < state.next_step:
        return state
    means = [
        window.totals[name] / window.counts[name] if name in window.counts else float("nan")
        for name in state.ids
    ]
    return push_window(state, np.array(means, dtype=np.float64), window.step)


def past_of_series(
    values: Floats, first_step: int, origins: Sequence[int] | Ints, capacity: float = math.nan
) -> SeriesPast:
    """Return the past of one whole series at each of `origins`, as pushing it would have left it.

    `values` is (windows,), its first window is number `first_step`; an origin is an index into it.
    """
    front = RECENT_WINDOWS
    padded = np.concatenate([np.full(front, np.nan), values])
    places = np.asarray(origins, dtype=np.int64)
    recent = np.lib.stride_tricks.sliding_window_view(padded, RECENT_WINDOWS)[places]
    lead = first_step % HOUR_WINDOWS
    aligned_values = np.concatenate([np.full(lead, np.nan), values])
    whole = len(aligned_values) // HOUR_WINDOWS
    peaks = row_max(aligned_values[: whole * HOUR_WINDOWS].reshape(whole, HOUR_WINDOWS))
    hours = np.concatenate([np.full(WEEK_HOURS, np.nan), peaks])
    complete = (lead + places) // HOUR_WINDOWS
    hourly = np.lib.stride_tricks.sliding_window_view(hours, WEEK_HOURS)[complete]
    step_of_day = ((first_step + places) % DAY_WINDOWS).astype(np.float64)
    return SeriesPast(recent, hourly, step_of_day, np.full(len(places), capacity))
