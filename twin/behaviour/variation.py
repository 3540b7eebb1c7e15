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
Known = dict[int, tuple[Keys, int, Floats, Floats]]
"""By number of a wave: the pods and the point of time of the last draws, and these, there and at the next."""


def variation(
    draws: Draws,
    keys: Keys,
    elapsed_seconds: float,
    waves: tuple[tuple[float, float, int], ...],
    known: Known | None = None,
) -> Floats:
    """Return the factor on the mean of each pod, 1.0 on average, at a time since the start of the
    cluster. `known` is of these draws alone; it saves drawing anew for the same pods.
    """
    factor, known = np.ones(len(keys)), {} if known is None else known
    for period, amplitude, number in waves:
        bucket = int(elapsed_seconds // period)
        part = elapsed_seconds / period - bucket
        step = part * part * (3.0 - 2.0 * part)
        low, high = _grid_points(draws, keys, bucket, number, known)
        factor += amplitude * (2.0 * (low + (high - low) * step) - 1.0)
    return factor


def _grid_points(
    draws: Draws, keys: Keys, bucket: int, number: int, known: Known
) -> tuple[Floats, Floats]:
    """Return the draws at a point of time and at the next."""
    low = None
    if number in known:
        pods, place, first, second = known[number]
        if np.array_equal(pods, keys):
            if place == bucket:
                return first, second
            low = second if place + 1 == bucket else None
    if low is None:
        low = draws.uniforms_of(keys, bucket * _WAVES + number)
    high = draws.uniforms_of(keys, (bucket + 1) * _WAVES + number)
    known[number] = (keys, bucket, low, high)
    return low, high
