"""The rows of the held load: nothing lost, nothing doubled, or the row does not hold."""

from __future__ import annotations

from typing import Any

import pytest

from proofs.load import rows_of

MEASURED: dict[str, Any] = {
    "what": "held",
    "cycles/s": 100.0,
    "events/s": 1_700,
    "superseded": 0.0,
    "undecided": 0,
    "doubled": 0,
    "RSS growth": 1.01,
}


@pytest.mark.parametrize(("undecided", "doubled"), [(0, 0), (3, 0), (0, 2)])
def test_a_lost_or_doubled_cycle_breaks_the_row(undecided: int, doubled: int) -> None:
    """Each cycle is decided once; every other one counts against the row."""
    one = {**MEASURED, "undecided": undecided, "doubled": doubled}

    _, held, above = rows_of([one, MEASURED], seconds=10.0, capacity=125.0)

    assert (1_000, 1_000 - undecided - doubled) == (held.tried, held.held)
    assert held.holds == (undecided + doubled == 0)
    assert above.holds
    assert "1700 events/s (target 2000)" in held.detail


@pytest.mark.parametrize(("pace", "kept"), [(80.0, True), (76.0, True), (75.0, False)])
def test_a_pace_that_was_not_kept_breaks_its_row(pace: float, kept: bool) -> None:
    """Of 100 cycles a second 80 are to be held, and a twentieth less is still that pace."""
    pace_row, *_ = rows_of([{**MEASURED, "cycles/s": pace}, MEASURED], seconds=10.0, capacity=100.0)

    assert pace_row.holds == kept
