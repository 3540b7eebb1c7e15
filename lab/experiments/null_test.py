"""How often chance alone would pass the gate: stored differences with random signs, asked again and again.

Were an arm as good as the reference, each paired difference might as well have had the other sign. So signs are
drawn anew many times and the gate's own rule is asked each time; the share of passes, with the upper limit of its
exact interval, is the gate's error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
import numpy.typing as npt

from lab.experiments.gate import shown_gains
from lab.experiments.resampling import draw_signs
from lab.experiments.spec import Inference
from projections.quantiles import binomial_limits

Floats = npt.NDArray[np.float64]
BLOCK_FLIPS = 250
"""Columns that are computed at once: with 10,000 resamples some 100 MB."""


@dataclass(frozen=True, slots=True)
class NullRate:
    """How often the gate's hypothesis passed although there was nothing to see."""

    flips: int
    passes: int
    low: float
    high: float
    """Limits of the share at 95 % (Clopper and Pearson, 1934)."""

    @property
    def rate(self) -> float:
        """Share of flips that passed."""
        return self.passes / self.flips


def measure_null_rate(
    gains: Sequence[Floats],
    inference: Inference,
    flips: int,
    seed: int,
    advance: Callable[[int], None] = lambda _: None,
) -> NullRate:
    """Return the gate's pass rate over random signs of gains (one array a workload).

    `advance` is called with the number of flips since the last call.
    """
    random, passes = Random(f"{seed}/null"), 0
    for first in range(0, flips, BLOCK_FLIPS):
        columns = min(BLOCK_FLIPS, flips - first)
        signs = [draw_signs(len(values), columns, random) for values in gains]
        passes += int(shown_gains(gains, signs, inference).sum())
        advance(columns)
    return NullRate(flips, passes, *binomial_limits(passes, flips))
