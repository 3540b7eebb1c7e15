"""Numbers as people read them."""

from __future__ import annotations

import pytest

from projections.figures import duration, number, signed_text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1e-9, "0"), (-1e-9, "0"), (0.00004, "<0.0001"), (-0.00004, ">-0.0001"),
        (0.00051, "0.00051"), (0.123456, "0.123"), (1.0, "1"), (1.5, "1.5"), (11.8722, "11.9"),
        (-11.8722, "-11.9"), (99.96, "100"), (100.4, "100"), (1234567.0, "1,234,567"), (5, "5"),
    ],
)  # fmt: skip
def test_a_number_has_three_digits_and_no_exponent(value: float, text: str) -> None:
    """All digits of the whole part, and what is next to nothing is 0."""
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (2.5, "+2.5"), (-2.5, "-2.5"), (1e-9, "0"), (12345.0, "+12,345")],
)
def test_a_difference_has_its_sign(value: float, text: str) -> None:
    """But for nothing."""
    assert signed_text(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.25, "0.25 s"), (11.8722, "11.9 s"), (900.0, "900 s"), (1000.0, "16 min 40 s"),
        (1800.0, "30 min"), (3600.0, "1 h"), (12_000.0, "3 h 20 min"), (-1800.0, "-30 min"),
    ],
)  # fmt: skip
def test_a_duration_has_a_unit_that_fits(seconds: float, text: str) -> None:
    """Seconds, then minutes, then hours."""
    assert duration(seconds) == text
