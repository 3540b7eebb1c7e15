"""Logarithm, exponential, interpolation and sums of arrays that are the same on every processor.

Numpy's own differ in their last bits between instruction sets; these use only what IEEE 754 defines, element
by element. Errors are a few units in the last place.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_LN2_HIGH, _LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_ROOT_HALF = 0.7071067811865476
_ODD = tuple(1.0 / number for number in range(23, 0, -2))
_FACTORIALS = tuple(1.0 / math.factorial(number) for number in range(15, -1, -1))
_LEAST, _MOST = -740.0, 700.0


def log(values: Floats) -> Floats:
    """Return the natural logarithms of numbers above 0."""
    mantissa, exponent = np.frexp(values)
    low = mantissa < _ROOT_HALF
    mantissa = np.where(low, mantissa * 2.0, mantissa)
    power = exponent.astype(np.float64) - low
    ratio = (mantissa - 1.0) / (mantissa + 1.0)
    square = ratio * ratio
    total = np.zeros(len(values))
    for factor in _ODD:
        total = total * square + factor
    found: Floats = power * _LN2_HIGH + (2.0 * ratio * total + power * _LN2_LOW)
    return found


def exp(values: Floats) -> Floats:
    """Return e to each of the numbers; beyond -740 and 700 that of the bound."""
    values = np.minimum(np.maximum(values, _LEAST), _MOST)
    power = np.rint(values / (_LN2_HIGH + _LN2_LOW))
    rest = (values - power * _LN2_HIGH) - power * _LN2_LOW
    total = np.zeros(len(values))
    for factor in _FACTORIALS:
        total = total * rest + factor
    found: Floats = np.ldexp(total, power.astype(np.int64))
    return found


def interpolate(values: Floats, points: Floats, heights: Floats) -> Floats:
    """Return heights between rising points by straight lines; beyond the ends those of the ends."""
    place = np.minimum(np.maximum(points.searchsorted(values, "right") - 1, 0), len(points) - 2)
    left, right = points[place], points[place + 1]
    width = np.where(right > left, right - left, 1.0)
    part = np.minimum(np.maximum((values - left) / width, 0.0), 1.0)
    found: Floats = heights[place] * (1.0 - part) + heights[place + 1] * part
    return found


def total(values: Floats) -> float:
    """Return the sum, rounded once."""
    return math.fsum(values.tolist())


def weighted(weights: Floats, rows: Floats) -> Floats:
    """Return the sum of rows times weights, added in order."""
    found = np.zeros(rows.shape[1])
    for weight, row in zip(weights.tolist(), rows, strict=True):
        found += weight * row
    return found


def renewals(first: Floats, more: Floats, chance: float) -> Floats:
    """Return g = (1 - chance) first + chance (more * g), * being convolution: `first` and a geometric number of
    `more`, each as masses on equal steps.
    """
    found = (1.0 - chance) * first
    step = chance * more
    stays = 1.0 - float(step[0])
    for place in range(len(found)):
        found[place] /= stays
        found[place + 1 :] += found[place] * step[1 : len(found) - place]
    return found
