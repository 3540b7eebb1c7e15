"""Three simulated runs under faults: nothing lost, doubled or done too late. `make prove` tries 1,000."""

from __future__ import annotations

import pytest

from proofs.simulation import try_seed
from proofs.simulation.plan import WORLDS, draw_plan
from proofs.simulation.world import run

TRIED_WORLDS = 3
SEEDS_PER_WORLD = 1


@pytest.mark.slow
@pytest.mark.parametrize("world", range(TRIED_WORLDS))
def test_whatever_breaks_the_log_comes_right(world: int) -> None:
    """Under crashes, lost acks, outages and pauses every invariant holds, and what differs from an
    undisturbed run names its reason.
    """
    # A test has one world, whose undisturbed run is made once.
    verdicts = [try_seed(1 + world + WORLDS * number) for number in range(SEEDS_PER_WORLD)]

    assert {} == {
        f"try_seed({verdict.seed})": verdict.problems[:5]
        for verdict in verdicts
        if verdict.problems
    }
    assert sum(verdict.crashes for verdict in verdicts) >= SEEDS_PER_WORLD
    assert sum(verdict.executions for verdict in verdicts) > SEEDS_PER_WORLD


def test_a_seed_repeats_its_run_exactly() -> None:
    """The same plan gives the same log, so that a failure can be looked at again."""
    first, second = (run(draw_plan(7, sources=True)) for _ in range(2))

    assert first.crashes > 0
    assert first.messages == second.messages
    assert first.messages != run(draw_plan(8, sources=True)).messages
