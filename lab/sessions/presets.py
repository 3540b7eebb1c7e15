"""The predecessors' searches, as they were meant, with what is wrong with each in words."""

from __future__ import annotations

from collections.abc import Mapping

from bus.errors import InputError
from lab.forecast.risk.booster_profiles import PROFILES
from lab.sessions.payloads import WhatIfPayload
from lab.sessions.search import Dimension, Objective, Search
from lab.sessions.training_payloads import BoosterPayload, PolicyPayload

PRESETS: Mapping[str, str] = {
    "reward-search": "it ranks by the reward that is multiplied by the very weights it searches, so larger weights "
    "win whatever is decided",
    "policy-search": "it ranks policies by rewards that are multiplied by the very weights it searches, and adds those "
    "of the rules, so larger weights win whatever is learnt",
    "booster-profiles": "it stops each booster, ranks it and tells its score on the same rows, so the winner looks "
    "better than it is",
}
"""By name: why what it finds is no evidence."""
REWARD_TRIALS = 30
WEIGHTS = (
    ("alpha", 0.5, 2.5),
    ("beta", 0.1, 2.0),
    ("gamma", 0.1, 2.0),
)
"""Bounds of the weights of the agents' rewards."""


def preset(name: str, recording: str | None, dataset: str | None) -> Search:
    """Return one of the predecessors' searches.

    Args:
        name: one of `PRESETS`.
        recording: what the reward search is searched on.
        dataset: what the boosters are trained on.

    Raises:
        InputError: what the search is searched on is not given, or something that it does not use.
    """
    given = {"--recording": recording, "--dataset": dataset}
    wanted = {"reward-search": "--recording", "booster-profiles": "--dataset"}.get(name)
    for flag, value in given.items():
        if (value is None) == (flag == wanted):
            remedy = f"name what {name} is searched on" if value is None else f"{name} uses none"
            raise InputError(flag, value, remedy)
    match name:
        case "reward-search":
            return _reward_search(str(recording))
        case "booster-profiles":
            return _booster_profiles(str(dataset))
        case _:
            return _policy_search()


def _reward_search(recording: str) -> Search:
    return Search(
        study="reward-search",
        payload=WhatIfPayload(kind="what-if", recording=recording),
        space=tuple(
            Dimension(name=f"scoreboard.{name}", low=low, high=high) for name, low, high in WEIGHTS
        ),
        objectives=(Objective(figure="metrics.reward"),),
        trials=REWARD_TRIALS,
        circular=PRESETS["reward-search"],
    )


def _policy_search() -> Search:
    """Return the search; its space is static: a minibatch larger than its batch is the whole batch."""
    return Search(
        study="policy-search",
        payload=PolicyPayload(kind="policy"),
        space=(
            *(Dimension(name=name, low=low, high=high) for name, low, high in WEIGHTS),
            Dimension(name="learning_rate", low=1e-5, high=3e-3, log=True),
            Dimension(name="train_batch", choices=(32, 64, 96, 128)),
            Dimension(name="minibatch", choices=(16, 32, 48, 64)),
            Dimension(name="epochs", low=1, high=3),
            Dimension(name="fragment_divisor", choices=(1, 2, 4)),
        ),
        objectives=(Objective(figure="metrics.score"),),
        trials=REWARD_TRIALS,
        circular=PRESETS["policy-search"],
    )


def _booster_profiles(dataset: str) -> Search:
    return Search(
        study="booster-profiles",
        payload=BoosterPayload(kind="booster", dataset=dataset),
        space=(Dimension(name="profile", choices=tuple(PROFILES)),),
        objectives=(Objective(figure="metrics.score"),),
        sampler="grid",
        trials=len(PROFILES),
        circular=PRESETS["booster-profiles"],
    )
