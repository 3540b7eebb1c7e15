"""The simulation can fail: it finds defects that are planted."""

from __future__ import annotations

import pytest

from proofs.simulation.planted import DEFECTS, caught_by


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_caught(name: str) -> None:
    """Each planted defect is reported, in words that name it, within twelve seeds."""
    assert caught_by(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFECTS)
def test_without_the_defect_nothing_is_reported(name: str) -> None:
    """The same plans of faults show nothing of the kind on the product as it is."""
    assert caught_by(name, planted=False) == ""
