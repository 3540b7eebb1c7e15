"""The trap suite: in each situation the profile `foresail` does what it must, and nothing that must not be done."""

from __future__ import annotations

from pathlib import Path

import pytest

from foresail.experiment.trap_run import play_trap
from lab.traps.trap import Trap, read_traps

FOLDER = Path(__file__).parents[2] / "experiments" / "traps"
TRAPS = read_traps(FOLDER)


def test_there_are_twenty_traps() -> None:
    """The suite is whole: no file of it is lost, and each can be read."""
    assert len(TRAPS) >= 20


@pytest.mark.parametrize(
    "trap",
    [
        pytest.param(
            trap,
            id=trap.name,
            marks=[pytest.mark.xfail(strict=True, reason=trap.known_failure)]
            if trap.known_failure
            else [],
        )
        for trap in TRAPS
    ],
)
def test_the_profile_passes(trap: Trap) -> None:
    """Every check of the trap holds; one that is known not to is named in its file, and fails when it does."""
    played = play_trap(trap, "foresail", FOLDER)
    assert not played.failures
