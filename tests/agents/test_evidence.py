"""A comparison as data: exact at its threshold, and on the number that travels."""

from __future__ import annotations

import pytest

from services.agents.evidence import Measurement


@pytest.mark.parametrize(
    ("comparison", "below", "at", "above"),
    [
        (">=", False, True, True),
        (">", False, False, True),
        ("<", True, False, False),
        ("==", False, True, False),
    ],
)
def test_each_comparison_at_both_sides_of_its_threshold(
    comparison: str, *, below: bool, at: bool, above: bool
) -> None:
    """The evidence holds exactly where its word says."""
    found = [
        Measurement("risk", value, "pods", 0.0).compare(comparison, 0.5).holds
        for value in (0.499999, 0.5, 0.500001)
    ]

    assert found == [below, at, above]


@pytest.mark.parametrize("comparison", [">=", "==", ">", "<"])
def test_what_is_compared_is_what_travels(comparison: str) -> None:
    """A sum that floats leave a hair off its threshold is judged as the log shows it, so that a reader of
    the log comes to the same end.
    """
    for value in (0.1 + 0.2, 0.3 - 1e-15):
        evidence = Measurement("load", value, "pods", 0.0).compare(comparison, 0.3)
        assert evidence.value == 0.3
        assert evidence.holds is (comparison in {">=", "=="})
