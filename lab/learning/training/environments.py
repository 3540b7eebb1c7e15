"""Environments as the learners take them: by Gymnasium's id, several side by side, observations normalised or not."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bus.errors import InputError
from lab.learning.libraries import library
from lab.learning.workloads.sources import stream_source
from lab.learning.workloads.splits import SPLITS

STATISTICS = ".statistics.pkl"
"""Ends the name of what observations are normalised by, beside the weights'."""
OWN_IDS = "Foresail/"
CLIPPED_OBSERVATION = 10.0
"""Deviations beyond which a normalised observation is cut."""


def make_environment(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return one environment.

    Raises:
        InputError: there is none of that id, or it takes no such arguments.
    """
    gymnasium = library("gymnasium")
    made_with = own_arguments(arguments) if name.startswith(OWN_IDS) else arguments
    try:
        return gymnasium.make(name, **made_with)
    except gymnasium.error.Error as error:
        raise InputError("--env", name, str(error)) from error
    except TypeError as error:
        raise InputError("--env-argument", dict(arguments), str(error)) from error


def own_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what one of our own environments is made with: the jobs of one split, train where none is named."""
    library("lab.learning.environments")  # registers them
    made_with = dict(arguments)
    workload, split = made_with.pop("workload", "uniform"), made_with.pop("split", "train")
    if split not in SPLITS:
        raise InputError("split", split, f"give one of {', '.join(SPLITS)}")
    return {**made_with, "workload": stream_source(workload, split=split)}


def on_split(name: str, arguments: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Return arguments that play a split; an environment of others has none and differs by its seeds."""
    return {**arguments, "split": split} if name.startswith(OWN_IDS) else dict(arguments)


def side_by_side(
    name: str, arguments: Mapping[str, Any], count: int, seed: int, *, normalise: bool
) -> Any:
    """Return `count` environments as Stable-Baselines3's vector, seeded one after the other."""
    vector = library("stable_baselines3.common.vec_env")
    monitor = library("stable_baselines3.common.monitor").Monitor

    def make_one() -> Any:
        return monitor(make_environment(name, arguments))

    environments = vector.DummyVecEnv([make_one] * count)
    environments.seed(seed)
    if not normalise:
        return environments
    return vector.VecNormalize(environments, norm_reward=False, clip_obs=CLIPPED_OBSERVATION)


def with_statistics(environments: Any, path: Path) -> Any:
    """Return the vector with the means and deviations that a run has kept."""
    vector = library("stable_baselines3.common.vec_env")
    inner = environments.venv if isinstance(environments, vector.VecNormalize) else environments
    return vector.VecNormalize.load(str(path), inner)


def read_statistics(weights: Path) -> Any:
    """Return what observations are normalised by before these weights; a file of the run's own."""
    library("stable_baselines3.common.vec_env")
    with weights.with_suffix(STATISTICS).open("rb") as file:
        return pickle.load(file)  # noqa: S301 - Stable-Baselines3 keeps it so
