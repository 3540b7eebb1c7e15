"""The CPU time of a request: a gamma distribution given by its mean and coefficient of variation.

A coefficient of 1 is the exponential distribution, 0.5 Erlang's of four stages. Everything here is in
units of the mean. Cumulative functions come from the incomplete gamma function (series below the
shape, continued fraction above: Abramowitz and Stegun 6.5.29 and 6.5.31), kept on a fine grid.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from twin.serving.portable_math import exp, interpolate, log

Floats = npt.NDArray[np.float64]
LEAST_CV, MOST_CV = 0.1, 4.0
_TERMS = 400
_TINY = 1e-300
_PER_DECADE = 200
_GRID = np.array(
    [0.0, *(10.0 ** (n / _PER_DECADE) for n in range(-9 * _PER_DECADE, 3 * _PER_DECADE))]
)


class ServiceTime:
    """Distribution of CPU time over its mean; `cv` is its standard deviation over its mean.

    Raises ValueError for a coefficient outside of LEAST_CV to MOST_CV.
    """

    def __init__(self, cv: float) -> None:
        if not LEAST_CV <= cv <= MOST_CV:
            raise ValueError(f"give a coefficient of variation from {LEAST_CV:g} to {MOST_CV:g}")
        self.cv = cv
        self.shape = 1.0 / (cv * cv)
        below = lower_gamma(self.shape, _GRID * self.shape)
        beyond = lower_gamma(self.shape + 1.0, _GRID * self.shape)
        self._cdf = below
        self._residual = np.minimum(1.0, _GRID * (1.0 - below) + beyond)

    def cdf(self, over_mean: Floats) -> Floats:
        """Return the share of requests that need at most so much, by amounts over the mean."""
        return interpolate(over_mean, _GRID, self._cdf)

    def residual_cdf(self, over_mean: Floats) -> Floats:
        """Return the same of what is left of a request that is found being served."""
        return interpolate(over_mean, _GRID, self._residual)

    def quantiles(self, shares: Floats) -> Floats:
        """Return the CPU times over their mean below which such shares lie; uniform shares give draws."""
        if self.shape == 1.0:
            return -log(1.0 - shares)
        return interpolate(shares, self._cdf, _GRID)


def lower_gamma(shape: float, values: Floats) -> Floats:
    """Return the regularised lower incomplete gamma function P(shape, x) for each x of 0 or more."""
    found = np.zeros(len(values))
    near = (values > 0.0) & (values < shape + 1.0)
    found[near] = _series(shape, values[near])
    far = values >= shape + 1.0
    found[far] = 1.0 - _fraction(shape, values[far])
    return found


def _front(shape: float, x: Floats) -> Floats:
    return exp(shape * log(x) - x - math.lgamma(shape))


def _series(shape: float, x: Floats) -> Floats:
    term = np.full(len(x), 1.0 / shape)
    total = term.copy()
    for number in range(1, _TERMS):
        term *= x / (shape + number)
        total += term
        if not len(term) or float(term.max()) < 1e-17 * float(total.max()):
            break
    return total * _front(shape, x)


def _fraction(shape: float, x: Floats) -> Floats:
    """Return the upper function by Lentz's evaluation of its continued fraction."""
    b = x + 1.0 - shape
    c = np.full(len(x), 1.0 / _TINY)
    d = 1.0 / b
    value = d.copy()
    for number in range(1, _TERMS):
        a = -number * (number - shape)
        b = b + 2.0
        d = a * d + b
        d[np.abs(d) < _TINY] = _TINY
        c = b + a / c
        c[np.abs(c) < _TINY] = _TINY
        d = 1.0 / d
        step = d * c
        value *= step
        if not len(step) or float(np.abs(step - 1.0).max()) < 1e-15:
            break
    return value * _front(shape, x)
