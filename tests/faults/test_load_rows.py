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

    held, above = rows_of([one, MEASURED], seconds=10.0)

    assert (1_000, 1_000 - undecided - doubled) == (held.tried, held.held)
    assert held.holds == (undecided + doubled == 0)
    assert above.holds
    assert "1700 events/s (target 2000)" in held.detail
