"""Kubernetes quantities are read exactly, whatever their suffix, or refused."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.quantities import (
    bytes_text,
    millicores_text,
    parse_cores,
    parse_quantity,
    parse_whole,
)

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}


@given(st.integers(0, 10**12), st.sampled_from(sorted(SUFFIXES)))
def test_every_suffix_is_exact(number: int, suffix: str) -> None:
    """A whole number with any suffix is that number times the suffix' factor, up to what nobody means any more."""
    assert parse_quantity(f"{number}{suffix}") == min(number * SUFFIXES[suffix], Decimal("1e27"))


@pytest.mark.parametrize("text", ["100E", "100Ei", "1e1000000", "9223372036854775808"])
def test_as_a_number_an_amount_fits_into_64_bits(text: str) -> None:
    """As in apimachinery, larger amounts are 2^63-1."""
    assert parse_whole(text) == 2**63 - 1


@given(st.decimals(0, 10**6, places=3), st.integers(-9, 12), st.sampled_from("eE"))
def test_exponents_are_exact(number: Decimal, exponent: int, letter: str) -> None:
    """The exponent form is the number times that power of ten."""
    assert parse_quantity(f"{number}{letter}{exponent}") == number * Decimal(10) ** exponent


@given(st.integers(0, 10**9))
def test_what_we_write_we_read(amount: int) -> None:
    """Amounts that the exerciser writes come back unchanged."""
    assert parse_quantity(millicores_text(amount)) * 1000 == amount
    assert parse_quantity(bytes_text(amount)) == amount


@given(st.text(max_size=8))
def test_anything_else_is_refused_and_never_guessed(text: str) -> None:
    """A text is either read as a finite number or refused with ValueError; nothing else happens."""
    with suppress(ValueError):
        assert parse_quantity(text).is_finite()


@pytest.mark.parametrize(
    "text", ["", "m", "1.5.2", "10mi", "1 Gi", "0x10", "1e", "ten", "1Ei5", "NaN"]
)
def test_texts_that_are_no_quantity(text: str) -> None:
    """Near misses are errors."""
    with pytest.raises(ValueError, match="not a Kubernetes quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("250m", 0.25), ("1500000000n", 1.5), ("300u", 0.0003), ("2", 2.0)]
)
def test_cores_of_metrics_and_specs(text: str, expected: float) -> None:
    """Nano- and micro-cores of the Metrics Server are read too (the baseline raised an error)."""
    assert parse_cores(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"), [("1Ki", 1024), ("1.5Gi", 3 * 2**29), ("1k", 1000), ("1500m", 2)]
)
def test_bytes_are_rounded_up(text: str, expected: int) -> None:
    """Fractions of a byte count as one, as in the API server."""
    assert parse_whole(text) == expected
