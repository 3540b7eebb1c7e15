"""Online calibration: limits that keep a violation target while the world drifts.

A model's quantile or a rule's limit is right on the data it was made from and wrong elsewhere. Here
each limit is widened or narrowed by a share that follows what was seen: after a violation up, after
a kept limit a little down, so that the share of violations returns to the target whatever the series
do (adaptive conformal inference, Gibbs and Candes 2021). All series of a group share one share; each
has a small one of its own on top, which is 0 until it has seen something.

Causal: a limit counts only when its horizon has passed. Bounded: one number per series, and the
limits of one horizon. Plain arithmetic, so that a re-run gives the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from features.series.quantiles import Floats

IDLE = 0.02
"""A limit is widened relative to itself plus this share of the scale: nothing can be widened."""
LOWEST_SHARE = -0.9
USUAL_WINDOWS = 12
"""The rates are those of an hour."""
FULL_GROUP = 10
"""The group moves at its full rate when at least so many limits ripen at once."""


@dataclass(frozen=True, slots=True)
class Tracking:
    """How limits follow the target.

    `target` is the wanted share of violations; `spread` is the typical size of a miss, as a share
    of the limit, known from training; the rates say how many spreads a violation is worth.
    """

    target: float
    spread: float
    group_rate: float = 0.2
    own_rate: float = 0.1

    def for_horizon(self, horizon_windows: int) -> Tracking:
        """Return the rates for a horizon: beyond an hour news comes late, and slow steps are stable.

        One violation is seen in every window of the horizon, and none of them until it has passed.
        """
        pace = min(1.0, USUAL_WINDOWS / horizon_windows)
        return replace(self, group_rate=pace * self.group_rate, own_rate=pace * self.own_rate)


@dataclass(frozen=True, slots=True)
class Shares:
    """By how much limits are widened: `group` for all, `own` (n,) on top for each series."""

    group: float
    own: Floats

    def __len__(self) -> int:
        """Return the number of series."""
        return len(self.own)


def excess(peaks: Floats, limits: Floats, scale: Floats) -> Floats:
    """Return by which share each limit would have had to be wider to hold just so."""
    idle = IDLE * scale
    ratio: Floats = (peaks + idle) / (limits + idle) - 1.0
    return ratio


def widen_limits(limits: Floats, scale: Floats, share: Floats | float) -> Floats:
    """Return limits that are wider by a share; never below 0."""
    idle = IDLE * scale
    return np.maximum((limits + idle) * (1.0 + np.maximum(share, LOWEST_SHARE)) - idle, 0.0)


def learn_shares(
    tracking: Tracking, shares: Shares, rows: NDArray[np.int64], violated: NDArray[np.bool_]
) -> Shares:
    """Return the shares after limits have ripened together.

    `rows` (k,) are the series they belong to, each at most once; `violated` (k,) whether the peak
    lay above.
    """
    if not len(rows):
        return shares
    missed = np.count_nonzero(violated) / len(rows) - tracking.target
    pace = tracking.group_rate * min(1.0, len(rows) / FULL_GROUP)
    own = shares.own.copy()
    own[rows] += tracking.own_rate * tracking.spread * (violated - tracking.target)
    return Shares(shares.group + pace * tracking.spread * missed, own)
