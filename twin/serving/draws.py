"""Drawn requests: each a function of the seed, the pod and the interval, whatever else was drawn.

One key gives a whole row of uniform draws (splitmix64, G. L. Steele, D. Lea, C. H. Flood 2014).
"""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt

from twin.serving.portable_math import log

Floats = npt.NDArray[np.float64]
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_TO_UNIT = 2.0**-53
_NO_REQUESTS = 1e-12


def draw_key(seed: int, concern: str, entity: str, ordinal: int) -> int:
    """Return the key of a row of draws."""
    text = f"{seed}/{concern}/{entity}/{ordinal}".encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def uniforms(key: int, count: int) -> Floats:
    """Return `count` draws in (0, 1) of a key."""
    mixed = np.arange(1, count + 1, dtype=np.uint64) * _GOLDEN + np.uint64(key)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed = mixed ^ (mixed >> np.uint64(31))
    return ((mixed >> np.uint64(11)).astype(np.float64) + 0.5) * _TO_UNIT


def poisson_times(key: int, begin: float, end: float, expected: float) -> Floats:
    """Return times of a Poisson process with so many expected events between two times, in order."""
    if expected <= _NO_REQUESTS:
        return np.zeros(0)
    count = int(expected + 8.0 * expected**0.5 + 16.0)
    gaps = -log(uniforms(key, count)) * ((end - begin) / expected)
    times = begin + np.cumsum(gaps)
    found: Floats = times[: int(np.searchsorted(times, end))]
    return found
