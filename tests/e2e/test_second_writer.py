"""A second referee on the same log: exactly one of the two stops, and says why."""

from __future__ import annotations

from pathlib import Path

import pytest

from proofs.faults import frozen

pytestmark = [pytest.mark.slow, pytest.mark.nats, pytest.mark.twin]


async def test_of_two_referees_exactly_one_stops(tmp_path: Path) -> None:
    """A referee wakes up beside its successor, which has decided meanwhile: the woken one ends with exit
    code 3 and a line that says so, the other goes on, and each cycle has one decision.
    """
    verdict = await frozen.second_referee(tmp_path, 11, 2.0)

    assert verdict.failure() == ""
    assert verdict.faults == ["referee frozen, a second one started", "referee woken"]
