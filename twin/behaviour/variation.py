"""How usage varies over a pod's life: smooth noise that is a function of (pod, time) alone.

Uniform draws sit on a grid of time; between two grid points the value moves along a smooth step.
"""

from __future__ import annotations

import numpy as np

from twin.chance import Draws, Floats, Keys

_WAVES = 64  # ordinals of one point of time
CPU_WAVES = ((900.0, 0.35, 1), (120.0, 0.25, 2))
"""(period in seconds, amplitude, number): CPU swings by at most 60 % of its mean."""
MEMORY_WAVES = ((1_800.0, 0.08, 3), (240.0, 0.03, 4))
"""Memory moves slowly, by at most 11 % of its mean."""


def variation(
    draws: Draws, keys: Keys, elapsed_seconds: float, waves: tuple[tuple[float, float, int], ...]
) -> Floats:
    """Return the factor on the mean of each pod, 1.0 on average, at a time since the start of the
    cluster.
    """
    factor = np.ones(len(keys))
    for period, amplitude, number in waves:
        bucket = int(elapsed_seconds // period)
        part = elapsed_seconds / period - bucket
        step = part * part * (3.0 - 2.0 * part)
        low = draws.uniforms_of(keys, bucket * _WAVES + number)
        high = draws.uniforms_of(keys, (bucket + 1) * _WAVES + number)
        factor += amplitude * (2.0 * (low + (high - low) * step) - 1.0)
    return factor
