"""The predecessors' searches, as they were meant, with what is wrong with each in words."""

from __future__ import annotations

from collections.abc import Mapping

from bus.errors import InputError
from lab.sessions.payloads import WhatIfPayload
from lab.sessions.search import Dimension, Objective, Search

PRESETS: Mapping[str, str] = {
    "reward-search": "it ranks by the reward that is multiplied by the very weights it searches, so larger weights "
    "win whatever is decided",
}
"""By name: why what it finds is no evidence."""
REWARD_TRIALS = 30


def preset(name: str, recording: str | None) -> Search:
    """Return one of the predecessors' searches on a recording.

    Raises:
        InputError: no recording is given.
    """
    if recording is None:
        raise InputError("--recording", recording, f"name what {name} is searched on")
    return Search(
        study=name,
        payload=WhatIfPayload(kind="what-if", recording=recording),
        space=(
            Dimension(name="scoreboard.alpha", low=0.5, high=2.5),
            Dimension(name="scoreboard.beta", low=0.1, high=2.0),
            Dimension(name="scoreboard.gamma", low=0.1, high=2.0),
        ),
        objectives=(Objective(figure="metrics.reward"),),
        trials=REWARD_TRIALS,
        circular=PRESETS[name],
    )
