"""The simulation can fail: it finds defects that are planted."""

from __future__ import annotations

import pytest

from proofs.simulation.planted import DEFECTS, find_catching_seed, find_report


@pytest.mark.slow
@pytest.mark.parametrize("name", [*DEFECTS][:2])  # `make prove PARTS=simulation` plants all
def test_a_planted_defect_is_caught_and_nothing_else(name: str) -> None:
    """Each planted defect is reported, in words that name it, within twelve seeds; the same faults
    show nothing of the kind on the product as it is.
    """
    caught = find_catching_seed(name)

    assert caught is not None
    assert find_report(name, caught[0], planted=False) == ""
