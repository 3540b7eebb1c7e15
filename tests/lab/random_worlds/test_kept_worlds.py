"""The random worlds that came out worst, under today's rules or those before: ten cost at most 2 % more by acting.

The suite plays the worst of them until after the harm was done. FORESAIL_KEPT_WORLDS=1 plays all ten, an hour each:
some five minutes of one core, and the one that is known to cost more.
"""

from __future__ import annotations

import os

import pytest

from foresail.experiment.world_run import WorldTask, play_world
from foresail.experiment.worlds_action import MOST_LOSS_RATIO
from lab.random_worlds.draw import HOUR

KEPT = (7, 8, 35, 9, 70, 39, 23, 122, 28, 25)
"""Of those that were played, the worst first: 3.5 % of what it costs left alone, to 0.07 %."""
BEYOND = pytest.param(
    80,
    HOUR,
    marks=pytest.mark.xfail(
        strict=True,
        reason="requests are not counted by pod, so a replica on a slow machine is not found",
    ),
)
WHOLE = [*((seed, HOUR) for seed in KEPT), BEYOND] if os.environ.get("FORESAIL_KEPT_WORLDS") else ()


@pytest.mark.parametrize(("seed", "seconds"), [(7, 2_400.0), *WHOLE])
def test_acting_does_no_harm(seed: int, seconds: float) -> None:
    """In world 7 raises that could not end a violation once took the room of a Service that came later."""
    played = play_world(WorldTask(seed=seed, profile="foresail", seconds=seconds))

    assert played.untouched_cost > 0.0
    assert played.loss_ratio <= MOST_LOSS_RATIO
