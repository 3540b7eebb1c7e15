"""Series of usage in five-minute windows, and families of series that are judged together."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from features.series.quantiles import Floats

TRAIN_SHARE = 0.6
FIT_SHARE = 0.75


@dataclass(frozen=True)
class Series:
    """One unbroken run of windows.

    `owner` names what the run belongs to (a job, an instance, a cell): the unit of splits and of
    the bootstrap. `first_step` is the number of the first window since some midnight. `values` is
    usage per window, NaN where missing. `capacity` is what cannot be exceeded, inf where unknown.
    """

    owner: str
    first_step: int
    values: Floats
    capacity: float = math.inf


@dataclass(frozen=True)
class Family:
    """Series of one kind, with how they are split.

    Split by time: training before `split_step`, test after it. With `unseen_owners` also by owner:
    training reads 60 % of the owners, chosen by a hash, and the test only the others.
    `stride` is how many windows lie between two origins that are scored, `row_stride` between two
    that are learned from. `like_nodes` families load a machine as a node's pods do: thresholds for
    nodes come from them.
    """

    name: str
    signal: str
    unit: str
    series: tuple[Series, ...]
    split_step: int
    stride: int
    unseen_owners: bool
    notes: tuple[str, ...] = field(default=())
    row_stride: int = 3
    like_nodes: bool = False

    @property
    def title(self) -> str:
        """Family and signal, as reports name it."""
        return f"{self.name} {self.signal}"

    @property
    def calibration_step(self) -> int:
        """Three quarters of the training time: before it models are fitted, after it calibrated."""
        first = min(usage_series.first_step for usage_series in self.series)
        return first + int(FIT_SHARE * (self.split_step - first))

    @property
    def owners(self) -> int:
        """How many owners there are."""
        return len({usage_series.owner for usage_series in self.series})


def owner_place(owner: str) -> float:
    """Return a number in [0, 1) that only depends on the owner's name.

    Below `TRAIN_SHARE` the owner is learned from: fitted in the lower three quarters of that
    share, calibrated in the upper one.
    """
    digest = hashlib.sha256(f"demand:{owner}".encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def time_split(series: tuple[Series, ...], share: float = TRAIN_SHARE) -> int:
    """Return the step that lies `share` of the way between the first and the last window."""
    first = min(usage_series.first_step for usage_series in series)
    last = max(usage_series.first_step + len(usage_series.values) for usage_series in series)
    return first + int(share * (last - first))


def on_grid(steps: np.ndarray, values: Floats) -> tuple[int, Floats]:
    """Return the first step and one value per window; windows that nobody measured are NaN.

    `steps` ascend; of two values in one window the first counts.
    """
    first = int(steps[0])
    grid = np.full(int(steps[-1]) - first + 1, np.nan)
    places, firsts = np.unique(steps, return_index=True)
    grid[places - first] = values[firsts]
    return first, grid
