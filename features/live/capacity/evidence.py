"""Evidence about one version of a workload: windows by rate, and the CPU that requests take."""

from __future__ import annotations

import math
from collections.abc import Mapping

from schemas.model import DataModel
from schemas.numbers import Rounded, rounded

GROWTH = 1.05
"""Rates within so much of one another are one bin."""
FORGET = 0.998
"""By window: half of what was seen counts after six hours of it."""
MOST_OF_A_BIN = 20.0
"""Windows that one bin counts at most: more of the same rate say nothing new, and what is old must be able to go."""
LEAST = 0.05
"""Bins below are dropped."""


class Bin(DataModel):
    """Windows at about one rate."""

    kept: Rounded = 0.0
    """In which the objective was kept."""
    broken: Rounded = 0.0


class CpuSums(DataModel):
    """Sums over looks of (requests a second, cores) of one replica, forgotten like the bins."""

    count: Rounded = 0.0
    rate: Rounded = 0.0
    cores: Rounded = 0.0
    rate_rate: Rounded = 0.0
    rate_cores: Rounded = 0.0


def bin_of(rate: float) -> int:
    """Return the number of the bin of a rate above 0."""
    return round(math.log(rate) / math.log(GROWTH))


def rate_of(number: int) -> float:
    """Return the middle rate of a bin."""
    return GROWTH**number


def add_window(bins: Mapping[int, Bin], rate: float, *, holds: bool) -> dict[int, Bin]:
    """Return the bins after a window at a rate above 0."""
    here = bin_of(rate)
    after = {
        number: Bin.model_construct(
            kept=rounded(FORGET * one.kept), broken=rounded(FORGET * one.broken)
        )
        for number, one in bins.items()
        if number == here or FORGET * (one.kept + one.broken) >= LEAST
    }
    old = after.get(here, Bin())
    kept, broken = old.kept + holds, old.broken + (not holds)
    scale = min(1.0, MOST_OF_A_BIN / (kept + broken))
    after[here] = Bin.model_construct(kept=rounded(scale * kept), broken=rounded(scale * broken))
    return dict(sorted(after.items()))


def add_cpu(sums: CpuSums, rate: float, cores: float) -> CpuSums:
    """Return the sums after a look at what one replica used at a rate."""
    return CpuSums.model_construct(
        count=rounded(FORGET * sums.count + 1.0),
        rate=rounded(FORGET * sums.rate + rate),
        cores=rounded(FORGET * sums.cores + cores),
        rate_rate=rounded(FORGET * sums.rate_rate + rate * rate),
        rate_cores=rounded(FORGET * sums.rate_cores + rate * cores),
    )
