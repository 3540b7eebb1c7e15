"""Three ways to use a limit: as it is, scaled once, and followed online.

Every rule and every model gets the same three, so that none is compared at a handicap. Guarantee:
the one share of `scaled` is found on the calibration part; `followed` learns of a peak only after
its horizon has ended, in the order in which it would live.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from features.series.adapt import Shares, Tracking, excess, learn_shares, widen_limits
from features.series.quantiles import Floats, row_quantiles
from lab.forecast.demand.origins import Ints, Origins
from lab.forecast.demand.split import Horizon, Parts

LEAST_SPREAD = 1e-3


@dataclass(frozen=True)
class TrackingStart:
    """Statistics of calibration rows about a limit: by how much to widen it, and how misses spread."""

    share: float
    spread: float


def start_of(
    raw: Floats, rows: Origins, parts: Parts, horizon: Horizon, target: float
) -> TrackingStart:
    """Return the share that `target` of the calibration rows would exceed, and the spread."""
    chosen = parts.calibrate
    peaks = rows.peaks[chosen, horizon.column]
    misses = excess(peaks, raw[chosen], rows.scale[chosen])
    if not len(misses):
        return TrackingStart(0.0, LEAST_SPREAD)
    margin, middle, high = row_quantiles(misses[None, :], [1.0 - target, 0.5, 0.9])[0]
    return TrackingStart(float(margin), max(float(high - middle), LEAST_SPREAD))


def bound_limits(limits: Floats, rows: Origins) -> Floats:
    """Return limits that reserve no more than there is."""
    return np.minimum(limits, rows.capacity)


def scale_limits(raw: Floats, rows: Origins, start: TrackingStart) -> Floats:
    """Return limits widened by one share for all."""
    return bound_limits(widen_limits(raw, rows.scale, start.share), rows)


def follow_target(
    raw: Floats, rows: Origins, parts: Parts, horizon: Horizon, start: TrackingStart, target: float
) -> Floats:
    """Return limits whose share follows the target online; rows that do not follow keep `scaled`.

    `rows` are ordered by step. Rows of one step are issued together, and ripen together one
    horizon later.
    """
    limits = scale_limits(raw, rows, start)
    tracking = Tracking(target, start.spread).for_horizon(horizon.windows)
    shares = Shares(start.share, np.zeros(int(rows.owner.max()) + 1))
    groups = _by_step(np.flatnonzero(parts.follow), rows.step)
    peaks, ripe = rows.peaks[:, horizon.column], 0
    for step, group in groups:
        while groups[ripe][0] + horizon.windows <= step:
            old = groups[ripe][1]
            shares = learn_shares(tracking, shares, rows.owner[old], peaks[old] > limits[old])
            ripe += 1
        share = shares.group + shares.own[rows.owner[group]]
        limits[group] = np.minimum(
            widen_limits(raw[group], rows.scale[group], share), rows.capacity[group]
        )
    return limits


def _by_step(chosen: Ints, steps: Ints) -> list[tuple[int, Ints]]:
    if not len(chosen):
        return []
    own = steps[chosen]
    cuts = np.flatnonzero(np.diff(own)) + 1
    return [(int(steps[group[0]]), group) for group in np.split(chosen, cuts)]
