"""Quantiles of Student's t and limits of a binomial share, exact, without a library of statistics.

Both are found by halving an interval on an exact distribution function, so they are right to `PRECISION`.
"""

from __future__ import annotations

import math
from collections.abc import Callable

PRECISION = 1e-12
MOST_HALVINGS = 200


def student_quantile(probability: float, freedom: int) -> float:
    """Return the value below which Student's t with `freedom` >= 1 degrees stays with `probability`.

    The distribution function is the finite series for whole degrees of freedom: Abramowitz and Stegun (1964),
    Handbook of Mathematical Functions, 26.7.3 and 26.7.4.
    """
    if probability < 0.5:
        return -student_quantile(1.0 - probability, freedom)
    inside = 2.0 * probability - 1.0
    high = 1.0
    while _student_inside(high, freedom) < inside:
        high *= 2.0
    return _rising_root(lambda value: _student_inside(value, freedom) - inside, 0.0, high)


def _student_inside(value: float, freedom: int) -> float:
    """Return the probability that |t| <= value."""
    angle = math.atan(value / math.sqrt(freedom))
    sine, squared = math.sin(angle), math.cos(angle) ** 2
    term = total = math.cos(angle) if freedom % 2 else 1.0
    for step in range(3 if freedom % 2 else 2, freedom - 1, 2):
        term *= squared * (step - 1) / step
        total += term
    if freedom % 2 == 0:
        return sine * total
    return 2.0 / math.pi * (angle + (sine * total if freedom > 1 else 0.0))


def binomial_limits(successes: int, trials: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the two-sided limits of a share of which `successes` of `trials` were seen.

    Clopper and Pearson (1934), The Use of Confidence or Fiducial Limits Illustrated in the Case of the Binomial,
    Biometrika 26: they contain the true share with at least `confidence`, whatever it is.
    """
    tail = (1.0 - confidence) / 2.0
    low = 0.0
    if successes:
        low = _rising_root(lambda share: _at_least(successes, trials, share) - tail, 0.0, 1.0)
    high = 1.0
    if successes < trials:
        complement = 1.0 - tail
        high = _rising_root(
            lambda share: _at_least(successes + 1, trials, share) - complement, 0.0, 1.0
        )
    return low, high


def _at_least(successes: int, trials: int, share: float) -> float:
    """Return the probability of so many successes or more."""
    if share in (0.0, 1.0):
        return share
    logarithms = (
        math.lgamma(trials + 1)
        - math.lgamma(count + 1)
        - math.lgamma(trials - count + 1)
        + count * math.log(share)
        + (trials - count) * math.log1p(-share)
        for count in range(successes, trials + 1)
    )
    return min(1.0, math.fsum(map(math.exp, logarithms)))


def _rising_root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return where a rising function crosses 0 between two values."""
    for _ in range(MOST_HALVINGS):
        middle = (low + high) / 2.0
        if high - low <= PRECISION * max(1.0, abs(middle)):
            break
        if function(middle) < 0.0:
            low = middle
        else:
            high = middle
    return (low + high) / 2.0
