"""Student's t and Clopper and Pearson's limits are those of printed tables."""

from __future__ import annotations

import pytest

from projections.quantiles import binomial_limits, student_quantile

# Two-sided 95 % and one-sided 80 % values of printed tables of t.
TABLE = {
    1: 12.7062,
    2: 4.3027,
    3: 3.1824,
    4: 2.7764,
    5: 2.5706,
    19: 2.0930,
    30: 2.0423,
    120: 1.9799,
}


@pytest.mark.parametrize("freedom", TABLE)
def test_quantiles_of_t_are_those_of_the_table(freedom: int) -> None:
    """Odd and even degrees of freedom, from one on."""
    assert student_quantile(0.975, freedom) == pytest.approx(TABLE[freedom], abs=1e-4)
    assert student_quantile(0.025, freedom) == pytest.approx(-TABLE[freedom], abs=1e-4)


def test_the_middle_of_t_is_0() -> None:
    """Half of it lies below."""
    assert student_quantile(0.5, 7) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [(0, 10, 0.0, 0.3085), (10, 10, 0.6915, 1.0), (5, 10, 0.1871, 0.8129), (1, 20, 0.0013, 0.2487)],
)
def test_limits_of_a_share_are_clopper_and_pearsons(
    successes: int, trials: int, low: float, high: float
) -> None:
    """Printed values, and the ends where nothing or everything succeeded."""
    assert binomial_limits(successes, trials) == pytest.approx((low, high), abs=1e-4)
