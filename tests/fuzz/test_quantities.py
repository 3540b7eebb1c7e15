"""Quantities: the two readers, ours and the twin's, agree on every text, and refuse with ValueError."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from services import quantities
from tests.fuzz.mutation import FUZZ, ODD_TEXTS
from twin import quantity

TEXTS = (
    st.from_regex(
        r"[+-]?[0-9]{0,20}\.?[0-9]{0,12}(n|u|m|k|[KMGTPE]i?|[eE][+-]?[0-9]{1,5})?", fullmatch=True
    )
    | st.text("0123456789.+-eEinumkKMGTP \n", max_size=9)
    | st.sampled_from(ODD_TEXTS)
)
BAD = "refused"


def result(read: Callable[[str], Any], text: str) -> Any:
    """Return what a reader makes of a text, or that it refused in the documented way."""
    try:
        return read(text)
    except ValueError:
        return BAD


@FUZZ
@example("1e9999")
@example("1e-9999")
@example("1\n")
@example("١٢")
@example("9" * 5_000)
@given(TEXTS)
def test_both_readers_agree(text: str) -> None:
    """One text, one amount or one refusal; what is accepted is a finite number."""
    ours, theirs = (result(one.parse_quantity, text) for one in (quantities, quantity))

    assert ours == theirs
    if ours != BAD:
        assert isinstance(ours, Decimal)
        assert ours.is_finite()
        assert result(quantities.parse_whole, text) == result(quantity.whole, text) != BAD
        assert result(quantities.parse_cores, text) != BAD
        assert result(quantity.millicores, text) != BAD


@FUZZ
@given(st.integers(0, 10**15))
def test_what_is_written_is_read_back(amount: int) -> None:
    """Both writers' texts give the amount back, in both readers."""
    assert quantities.millicores_text(amount) == quantity.cpu_text(amount)
    assert quantities.bytes_text(amount) == quantity.memory_text(amount)
    assert amount == quantity.millicores(quantities.millicores_text(amount))
    assert amount == quantities.parse_whole(quantity.memory_text(amount))


@pytest.mark.parametrize("text", ["", " 1", "1 ", "1.5.", "1KiB", "0x1", "NaN", "Infinity", "1e"])
def test_texts_that_look_like_numbers_are_refused(text: str) -> None:
    """What the API server refuses is refused here."""
    assert BAD == result(quantities.parse_quantity, text) == result(quantity.parse_quantity, text)
