"""The random worlds that came out worst, by any rules so far: all but one cost at most 2 % more by acting.

The suite plays two of them until after the harm was done. FORESAIL_KEPT_WORLDS=1 plays all, an hour each: some six
minutes of one core, and the one that is known to cost more.
"""

from __future__ import annotations

import os

import pytest

from foresail.experiment.world_run import WorldTask, play_world
from foresail.experiment.worlds_action import MOST_LOSS_RATIO
from lab.random_worlds.draw import HOUR

KEPT = (505, 290, 367, 109, 287, 7, 506, 496, 8, 80, 35, 9, 70, 39, 23, 122, 28, 25)
"""Of those that were played, the worst first: 65 % of what it costs left alone, to 0.07 %."""
BEYOND = pytest.param(
    345,
    HOUR,
    marks=pytest.mark.xfail(
        strict=True,
        reason="replicas make way two minutes late, the breaker trips, and then no room is made for a Service",
    ),
)
WHOLE = [*((seed, HOUR) for seed in KEPT), BEYOND] if os.environ.get("FORESAIL_KEPT_WORLDS") else ()


@pytest.mark.parametrize(("seed", "seconds"), [(7, 2_400.0), (505, 1_700.0), *WHOLE])
def test_acting_does_no_harm(seed: int, seconds: float) -> None:
    """In both added replicas once took the room of a Service that came later: in 7 for nothing, in 505 for bursts."""
    played = play_world(WorldTask(seed=seed, profile="foresail", seconds=seconds))

    assert played.untouched_cost > 0.0
    assert played.loss_ratio <= MOST_LOSS_RATIO
