"""Chance: every draw is a function of (seed, concern, entity, ordinal), and of nothing else.

Guarantee: what happens to one thing moves nobody else's luck. A draw does not depend on how many
were made before it, by whom, or in which order, so nothing has to be kept either. Integer hashing
only (splitmix64, blake2b), so every machine draws the same bits; numpy arrays of entities or
ordinals give what one call for each would give.

An entity is known by a text that lasts: a pod's, job's or node's uid, which follows from its name or
from its place under its owner (`twin.identity`), or a node's name. An ordinal is its own count: of
its starts, of its failures, of a step of time.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]
_MASK = (1 << 64) - 1
_GOLDEN = 0x9E3779B97F4A7C15
_FIRST, _SECOND = 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_TO_UNIT = 2.0**-53
_HALF_STEP = 2.0**-54
_NORMAL = NormalDist()


def key_of(*parts: object) -> int:
    """Return 64 bits that stand for parts, each written as text."""
    text = "\x1f".join(map(str, parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Draws:
    """The draws of one concern. An entity is a text or its `key_of`."""

    concern: int

    def bits(self, entity: str | int, ordinal: int = 0) -> int:
        """Return 64 random bits."""
        key = key_of(entity) if isinstance(entity, str) else entity
        return _mix(key ^ self._salt(ordinal))

    def uniform(self, entity: str | int, ordinal: int = 0) -> float:
        """Return a number in [0, 1)."""
        return (self.bits(entity, ordinal) >> 11) * _TO_UNIT

    def exponential(self, mean: float, entity: str | int, ordinal: int = 0) -> float:
        """Return a number of an exponential distribution, in the unit of `mean`."""
        return -mean * math.log1p(-self.uniform(entity, ordinal))

    def normal(self, entity: str | int, ordinal: int = 0) -> float:
        """Return a number of the standard normal distribution."""
        return _NORMAL.inv_cdf(self.uniform(entity, ordinal) + _HALF_STEP)  # never 0 or 1

    def lognormal(self, median: float, sigma: float, entity: str | int, ordinal: int = 0) -> float:
        """Return a number of a log-normal distribution, in the unit of `median`."""
        return median * math.exp(sigma * self.normal(entity, ordinal)) if median else 0.0

    def bits_of(self, entities: Keys, ordinal: int = 0) -> Keys:
        """Return 64 random bits for each entity key."""
        return _mix_all(entities ^ np.uint64(self._salt(ordinal)))

    def uniforms_of(self, entities: Keys, ordinal: int = 0) -> Floats:
        """Return one number in [0, 1) for each entity key."""
        return (self.bits_of(entities, ordinal) >> np.uint64(11)).astype(np.float64) * _TO_UNIT

    def uniforms(self, entity: str | int, ordinals: Keys) -> Floats:
        """Return one number in [0, 1) for each ordinal of one entity."""
        key = key_of(entity) if isinstance(entity, str) else entity
        steps = np.uint64(self.concern) + ordinals * np.uint64(_GOLDEN)  # wraps at 64 bits
        bits = _mix_all(np.uint64(key) ^ _mix_all(steps))
        return (bits >> np.uint64(11)).astype(np.float64) * _TO_UNIT

    def _salt(self, ordinal: int) -> int:
        return _mix((self.concern + ordinal * _GOLDEN) & _MASK)


@dataclass(frozen=True, slots=True)
class Chance:
    """All luck of one world: its seed."""

    seed: int

    def draws(self, concern: str) -> Draws:
        """Return the draws of a concern, such as `node failures`; each is independent."""
        return Draws(key_of(self.seed, concern))


def _mix(number: int) -> int:
    """Return a well mixed 64-bit number (splitmix64's finaliser)."""
    number = ((number ^ (number >> 30)) * _FIRST) & _MASK
    number = ((number ^ (number >> 27)) * _SECOND) & _MASK
    return number ^ (number >> 31)


def _mix_all(numbers: Keys) -> Keys:
    mixed = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(_FIRST)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(_SECOND)
    return mixed ^ (mixed >> np.uint64(31))
