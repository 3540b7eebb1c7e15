"""The decaying histogram of the recommender: newer samples weigh more, by half a life each.

Buckets grow by 5 % from the first one on; a percentile is the end of its bucket. Weights are relative to
a reference time that moves forward when they would grow too large.
Source: recommender/util/histogram.go, histogram_options.go, decaying_histogram.go.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cache

from twin.part import keepable

GROWTH = 0.05
BUCKETS = 176
"""Both for CPU (0.01 to 1,000 cores) and for memory (10 MB to 1 TB)."""
SAMPLE_WEIGHT = 0.1
"""Of a CPU sample (minSampleWeight); a memory peak weighs 1."""
_EPSILON = 0.001 * SAMPLE_WEIGHT
_MOST_HALF_LIVES = 100


@cache
def bucket_starts(first: float) -> tuple[float, ...]:
    """Return where each bucket starts; `first` is the width of the first one."""
    starts, power = [0.0], 1.0
    for _ in range(BUCKETS - 1):
        power *= 1.0 + GROWTH
        starts.append(first * (power - 1.0) / GROWTH)
    return tuple(starts)


@keepable
@dataclass(slots=True, eq=False)
class Histogram:
    """Weights by bucket."""

    first: float
    """Width of the first bucket, in the samples' unit."""
    half_life_seconds: float
    weights: list[float] = field(default_factory=lambda: [0.0] * BUCKETS)
    total: float = 0.0
    low: int = BUCKETS - 1
    """The first bucket that is not empty, if there is one."""
    high: int = 0
    reference: float = -math.inf
    """Time at which a sample's weight is what it was given, unix seconds."""

    def add(self, value: float, weight: float, at: float) -> None:
        """Add a sample taken at `at` (unix seconds)."""
        weight *= self._decay(at)
        bucket = self._bucket(value)
        self.weights[bucket] += weight
        self.total += weight
        if self.weights[bucket] >= _EPSILON:
            self.low, self.high = min(self.low, bucket), max(self.high, bucket)

    def subtract(self, value: float, weight: float, at: float) -> None:
        """Take back an equal sample that was added before."""
        weight *= self._decay(at)
        bucket = self._bucket(value)
        self.total = _less(self.total, weight)
        self.weights[bucket] = _less(self.weights[bucket], weight)
        self._narrow()

    def percentile(self, share: float) -> float:
        """Return the end of the bucket in which that share of the weight is reached; 0 when empty."""
        if self.weights[self.low] < _EPSILON:
            return 0.0
        bucket, reached = self.low, 0.0
        while bucket < self.high:
            reached += self.weights[bucket]
            if reached >= share * self.total:
                break
            bucket += 1
        return bucket_starts(self.first)[min(bucket + 1, BUCKETS - 1)]

    def _bucket(self, value: float) -> int:
        return bisect_right(bucket_starts(self.first), value) - 1

    def _decay(self, at: float) -> float:
        half_lives = (at - self.reference) / self.half_life_seconds
        if half_lives > _MOST_HALF_LIVES:
            self._shift(at)
            half_lives = (at - self.reference) / self.half_life_seconds
        return float(2.0**half_lives)

    def _shift(self, at: float) -> None:
        """Move the reference to a whole number of half-lives near `at`."""
        before = self.reference
        self.reference = math.floor(at / self.half_life_seconds + 0.5) * self.half_life_seconds
        if math.isinf(before):
            return
        factor = 2.0 ** ((before - self.reference) / self.half_life_seconds)
        self.weights = [weight * factor for weight in self.weights]
        self.total *= factor
        self._narrow()

    def _narrow(self) -> None:
        while self.weights[self.low] < _EPSILON and self.low < BUCKETS - 1:
            self.low += 1
        while self.weights[self.high] < _EPSILON and self.high > 0:
            self.high -= 1


def _less(value: float, taken: float) -> float:
    value -= taken
    return 0.0 if value < _EPSILON else value
