"""Numbers as they travel: rounded once, the same way everywhere."""

from __future__ import annotations

import math
from random import Random

import pytest

from inputs.plain_numbers import parse_number
from schemas.numbers import rounded


def test_rounding_is_that_of_the_language() -> None:
    """Whatever the size, at ties and beside them, the result is `round`'s to the last bit, and no minus zero."""
    random = Random("rounding")
    values = [random.uniform(-1.0, 1.0) * 10.0**size for size in range(-9, 19) for _ in range(300)]
    ties = [(random.randrange(10**size) + 0.5) / 1e6 for size in range(1, 16) for _ in range(300)]
    beside = [math.nextafter(tie, side) for tie in ties for side in (-math.inf, math.inf)]
    for value in (*values, *ties, *beside, *map(rounded, values), 0.0, -0.0, -4e-7, 7, -(2.0**51)):
        expected = round(value, 6) + 0.0
        assert (rounded(value).hex(), type(rounded(value))) == (expected.hex(), float)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_not_finite_are_refused(value: float) -> None:
    """They are no JSON."""
    with pytest.raises(ValueError, match="finite"):
        rounded(value)


@pytest.mark.parametrize(
    "text",
    [
        "1_000",
        "\uff11\uff12",
        "\u0661",
        " 1",
        "1 ",
        "1\n",
        "0x10",
        "nan",
        "inf",
        "-Infinity",
        "1e400",
        "",
        ".",
        "1.5.2",
    ],
)
def test_what_only_python_takes_for_a_number_is_none(text: str) -> None:
    """Underscores, digits of other scripts, blanks and what is not finite are refused."""
    with pytest.raises(ValueError, match="number"):
        parse_number(text)


@pytest.mark.parametrize(("text", "number"), [("-1.5e3", -1500.0), (".5", 0.5), ("7.", 7.0)])
def test_decimal_numbers_are_read(text: str, number: float) -> None:
    """With sign, point and exponent."""
    assert parse_number(text) == number
