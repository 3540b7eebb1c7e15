"""Whole numbers: exact requests, and one number per key of several columns (a task, a shape)."""

from __future__ import annotations

import numpy as np

from features.history.tables import F32, I64, U64

MILLIONTHS = 1_000_000


def millionths(values: F32) -> I64:
    """Return requests or capacities as whole millionths, so that sums are exact; -1 is missing.

    Give units in which a machine has less than 2**30 of anything (cores, GiB, fractions); larger
    values are capped there.
    """
    wide = np.nan_to_num(values.astype(np.float64), nan=-1.0)
    scaled = np.rint(np.minimum(wide, 2.0**30) * MILLIONTHS)
    return np.where(wide < 0, -1, scaled).astype(np.int64)


def mix_keys(*parts: I64) -> I64:
    """Return one number from 0 per row of several columns: equal for equal rows, else all but surely not.

    63 well-mixed bits: a million different rows hold two equal numbers once in 18 million times.
    """
    state: U64 = np.zeros(len(parts[0]), dtype=np.uint64)
    for part in parts:
        state = state ^ part.astype(np.uint64)
        state = (state + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
        state = (state ^ (state >> np.uint64(29))) * np.uint64(0x94D049BB133111EB)
        state = state ^ (state >> np.uint64(32))
    return (state >> np.uint64(1)).astype(np.int64)
