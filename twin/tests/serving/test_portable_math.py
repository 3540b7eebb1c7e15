"""Array functions of our own beside those of the C library."""

from __future__ import annotations

import math

import numpy as np
import pytest

from twin.serving.portable_math import exp, interpolate, log, renewals, weighted
from twin.serving.service_time import lower_gamma


def test_logarithm_and_exponential_are_those_of_the_library() -> None:
    """Both differ from the C library's by at most a few units in the last place."""
    values = [10.0 ** (place / 7.0) for place in range(-2_000, 2_000)]
    expected = [math.log(value) for value in values]
    assert log(np.array(values)).tolist() == pytest.approx(expected, rel=1e-15, abs=1e-15)
    powers = [place / 3.0 for place in range(-2_000, 2_000)]
    assert exp(np.array(powers)).tolist() == pytest.approx([math.exp(x) for x in powers], rel=1e-14)


def test_lines_between_points() -> None:
    """Between points the height is on the line, beyond the ends it is that of the end."""
    actual = interpolate(
        np.array([-1.0, 0.5, 2.0, 9.0]), np.array([0.0, 1.0, 3.0]), np.array([0.0, 10.0, 30.0])
    )
    assert actual.tolist() == [0.0, 5.0, 20.0, 30.0]


@pytest.mark.parametrize("stages", [1, 2, 4])
def test_gamma_of_whole_stages_is_erlang(stages: int) -> None:
    """P(n, x) is Erlang's distribution for whole n."""
    values = [0.001, 0.1, 0.9, 1.0, 3.0, 5.5, 40.0]
    expected = [
        1.0 - math.exp(-x) * math.fsum(x**n / math.factorial(n) for n in range(stages))
        for x in values
    ]
    assert lower_gamma(float(stages), np.array(values)).tolist() == pytest.approx(
        expected, abs=1e-14
    )


def test_renewals_are_a_geometric_sum() -> None:
    """A first step of 1 and a geometric number of steps of 2 have their masses at 1, 3, 5 and so on."""
    first, more = np.zeros(9), np.zeros(9)
    first[1] = more[2] = 1.0
    assert renewals(first, more, 0.5).tolist() == [
        0.0,
        0.5,
        0.0,
        0.25,
        0.0,
        0.125,
        0.0,
        0.0625,
        0.0,
    ]


@pytest.mark.parametrize("columns", [1, 2, 3, 40])
def test_weighted_rows_are_added_in_order(columns: int) -> None:
    """The sum is that of one addition after the other, to the last bit, and not of pairs."""
    weights = np.array([1.0 / number for number in range(1, 200)])
    rows = np.array(
        [[1e9 / number + place for place in range(columns)] for number in range(1, 200)]
    )
    expected = [0.0] * columns
    for weight, row in zip(weights.tolist(), rows.tolist(), strict=True):
        expected = [sum_ + weight * cell for sum_, cell in zip(expected, row, strict=True)]
    assert weighted(weights, rows).tolist() == expected
