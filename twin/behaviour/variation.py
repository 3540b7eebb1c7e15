"""How usage varies over a pod's life: smooth noise that is a function of (pod, time) alone.

Each pod has a 64-bit seed. Uniform draws sit on a grid of time; between two grid points the value
moves along a smooth step. Integer hashing only, so every machine gives the same numbers.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Seeds = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_TO_UNIT = 2.0**-53
CPU_WAVES = ((900.0, 0.35, 1), (120.0, 0.25, 2))
"""(period in seconds, amplitude, salt): CPU swings by at most 60 % of its mean."""
MEMORY_WAVES = ((1_800.0, 0.08, 3), (240.0, 0.03, 4))
"""Memory moves slowly, by at most 11 % of its mean."""


def mix(number: int) -> int:
    """Return a well mixed 64-bit number (splitmix64's finaliser)."""
    number = (number + _GOLDEN) & _MASK
    number = ((number ^ (number >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    number = ((number ^ (number >> 27)) * 0x94D049BB133111EB) & _MASK
    return number ^ (number >> 31)


def unit_draws(seeds: Seeds, bucket: int, salt: int) -> Floats:
    """Return one draw in [0, 1) per seed for this bucket and salt."""
    mixed = seeds ^ np.uint64(mix(bucket * 64 + salt))
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return (mixed >> np.uint64(11)).astype(np.float64) * _TO_UNIT


def variation(
    seeds: Seeds, elapsed_seconds: float, waves: tuple[tuple[float, float, int], ...]
) -> Floats:
    """Return the factor on the mean, 1.0 on average, at a time since the start of the cluster."""
    factor = np.ones(len(seeds))
    for period, amplitude, salt in waves:
        bucket = int(elapsed_seconds // period)
        part = elapsed_seconds / period - bucket
        step = part * part * (3.0 - 2.0 * part)
        low = unit_draws(seeds, bucket, salt)
        high = unit_draws(seeds, bucket + 1, salt)
        factor += amplitude * (2.0 * (low + (high - low) * step) - 1.0)
    return factor
