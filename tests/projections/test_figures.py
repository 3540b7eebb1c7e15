"""Numbers as people read them."""

from __future__ import annotations

import pytest

from projections.figures import (
    age,
    cell,
    duration,
    number,
    number_beside,
    percent,
    signed_text,
    size,
)


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


@pytest.mark.parametrize(
    ("value", "other", "texts"),
    [
        (0.83, 0.5, ("0.83", "0.5")), (0.649999, 0.65, ("0.649999", "0.65")),
        (0.83041, 0.83012, ("0.8304", "0.8301")), (0.5, 0.5, ("0.5", "0.5")), (12.3456, 2.0, ("12.3", "2")),
    ],
)  # fmt: skip
def test_a_number_is_seen_to_differ_from_its_limit(
    value: float, other: float, texts: tuple[str, str]
) -> None:
    """Only as many more digits than three as that takes."""
    assert (number_beside(value, other), number_beside(other, value)) == texts


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        (percent(0.0315432), "3.15%"), (percent(0.62), "62%"), (percent(1.0), "100%"),
        (percent(float("nan")), "-"), (size(512), "512 B"), (size(4_234_567), "4.23 MB"),
        (size(24_000_000_000), "24 GB"), (age(0.3456), "0.3 s"), (age(-2.0), "0 s"),
        (age(754.321), "754 s"), (cell(None), "-"), (cell(0.1234567), "0.123"), (cell("web"), "web"),
    ],
)  # fmt: skip
def test_shares_sizes_ages_and_cells_have_their_form(text: str, wanted: str) -> None:
    """Percentages of three digits, decimal units, ages to a tenth."""
    assert text == wanted
