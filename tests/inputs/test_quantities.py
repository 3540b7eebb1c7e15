"""Kubernetes quantities are read exactly, whatever their suffix, or refused; what is written is canonical."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from inputs.quantities import (
    canonical_text,
    cpu_text,
    memory_text,
    parse_cores,
    parse_millicores,
    parse_quantity,
    parse_whole,
)
from tests.fuzz.mutation import FUZZ, ODD_TEXTS

SUFFIXES = {
    "n": Decimal("1e-9"),
    "u": Decimal("1e-6"),
    "m": Decimal("1e-3"),
    "": Decimal(1),
    **{letter: Decimal(1000) ** power for power, letter in enumerate("kMGTPE", 1)},
    **{f"{letter}i": Decimal(1024) ** power for power, letter in enumerate("KMGTPE", 1)},
}
TEXTS = (
    st.from_regex(
        r"[+-]?[0-9]{0,20}\.?[0-9]{0,12}(n|u|m|k|[KMGTPE]i?|[eE][+-]?[0-9]{1,5})?", fullmatch=True
    )
    | st.text("0123456789.+-eEinumkKMGTP \n", max_size=9)
    | st.sampled_from(ODD_TEXTS)
    | st.text(max_size=8)
)


@given(st.integers(0, 10**12), st.sampled_from(sorted(SUFFIXES)))
def test_every_suffix_is_exact(number: int, suffix: str) -> None:
    """A whole number with any suffix is that number times the suffix' factor, up to what nobody means any more."""
    assert parse_quantity(f"{number}{suffix}") == min(number * SUFFIXES[suffix], Decimal("1e27"))


@given(st.decimals(0, 10**6, places=3), st.integers(-9, 12), st.sampled_from("eE"))
def test_exponents_are_exact(number: Decimal, exponent: int, letter: str) -> None:
    """The exponent form is the number times that power of ten."""
    assert parse_quantity(f"{number}{letter}{exponent}") == number * Decimal(10) ** exponent


@FUZZ
@example("1e9999")
@example("1e-9999")
@example("1\n")
@example("١٢")
@example("9" * 5_000)
@given(TEXTS)
def test_a_text_is_a_finite_amount_or_refused(text: str) -> None:
    """Whatever the text, nothing but ValueError; what is read can be written, read back and asked in each unit."""
    with suppress(ValueError):
        amount = parse_quantity(text)
        assert amount.is_finite()
        assert parse_whole(text) >= min(amount, 2**63 - 1)
        assert parse_millicores(text) >= min(amount * 1000, 2**63 - 1)
        assert parse_cores(text) == pytest.approx(float(amount), abs=1e-6) or abs(amount) > 2**53
        assert parse_quantity(canonical_text(text)) == pytest.approx(amount, abs=Decimal("1e-9"))


@pytest.mark.parametrize("text", ["100E", "100Ei", "1e1000000", "9223372036854775808"])
def test_as_a_number_an_amount_fits_into_64_bits(text: str) -> None:
    """As in apimachinery, larger amounts are 2^63-1."""
    assert parse_whole(text) == parse_millicores(text) == 2**63 - 1


@given(st.integers(0, 10**15))
def test_what_is_written_is_read_back(amount: int) -> None:
    """Both writers' texts give the amount back."""
    assert parse_millicores(cpu_text(amount)) == parse_quantity(cpu_text(amount)) * 1000 == amount
    assert parse_whole(memory_text(amount)) == amount


@pytest.mark.parametrize(
    "text",
    [
        *("", "m", "a lot", "ten", "NaN", "Infinity", "0x10", "--1", "1.5.", "1.5.2", "1_0"),
        *(" 1", "1 ", "1 Gi", "10mi", "1gi", "1K", "1KiB", "1e", "1Ei5"),
    ],
)
def test_what_the_api_server_refuses_is_refused(text: str) -> None:
    """Near misses are errors that show the text."""
    with pytest.raises(ValueError, match="not a Kubernetes quantity: '"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (parse_cores, "250m", 0.25),
        (parse_cores, "1500000000n", 1.5),  # nano- and micro-cores of the Metrics Server
        (parse_cores, "300u", 0.0003),
        (parse_cores, "2", 2.0),
        (parse_millicores, "1.5", 1500),
        (parse_millicores, "0.0001", 1),
        (parse_millicores, "2k", 2_000_000),
        (parse_millicores, "1500000u", 1500),
        (parse_millicores, "1n", 1),
        (parse_millicores, 2, 2000),
        (parse_millicores, ".5", 500),
        (parse_whole, "1Ki", 1024),
        (parse_whole, "1.5Gi", 3 * 2**29),
        (parse_whole, "2M", 2_000_000),
        (parse_whole, "1e3", 1000),
        (parse_whole, "1E3", 1000),
        (parse_whole, "1E", 10**18),
        (parse_whole, "1500m", 2),
        (parse_whole, "0", 0),
    ],
)
def test_units(read: Callable[[str | int], float], text: str | int, expected: float) -> None:
    """Cores to a micro-core; millicores, bytes and devices are whole and rounded up, as in the API server."""
    assert read(text) == expected


def test_canonical_texts() -> None:
    """Amounts are written the way the API server writes them."""
    assert [cpu_text(2000), cpu_text(1500)] == ["2", "1500m"]
    assert [memory_text(8 * 2**30), memory_text(1536 * 2**20), memory_text(1001)] == [
        "8Gi",
        "1536Mi",
        "1001",
    ]
    texts = {"1000m": "1", "1024Mi": "1Gi", "1.5Gi": "1536Mi", "0.5Ki": "512", "1e3": "1e3"}
    assert {text: canonical_text(text) for text in texts} == texts
