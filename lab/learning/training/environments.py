"""Environments as the learners take them: by Gymnasium's id, several side by side, observations normalised or not."""

from __future__ import annotations

import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bus.errors import InputError
from lab.learning.libraries import library
from lab.learning.observation import (
    CLUSTER_NUMBERS,
    HIDDEN,
    SLOTS,
    WIDE_CLUSTER_NUMBERS,
    hidden_places,
)
from lab.learning.training.fast_vector import fast_environments
from lab.learning.workloads.sources import SourceOptions, settings_of, stream_source

STATISTICS = ".statistics.pkl"
"""Ends the name of what observations are normalised by, beside the weights'."""
SOURCE_OPTIONS = ("count", "data_dir", "first_hour", "length_seconds", "settings")
"""Arguments that belong to the source of streams; `settings` is a file of `settings_file`."""
ADMISSION = "Foresail/KueueAdmission-v1"
"""The environment that is stepped many times at once."""
DATA_VARIABLE = "FORESAIL_DATA"
OWN_IDS, AGENTS = "Foresail/", "Foresail/Agents-v1"
CLIPPED_OBSERVATION = 10.0
"""Deviations beyond which a normalised observation is cut."""


def make_environment(name: str, arguments: Mapping[str, Any]) -> Any:
    """Return one environment.

    Raises:
        InputError: there is none of that id, or it takes no such arguments.
    """
    gymnasium = library("gymnasium")
    if name.startswith(OWN_IDS):
        library("lab.learning.environments")  # registers them
    if name == AGENTS:
        raise InputError("--env", name, "three agents learn by `foresail learn train-agents`")
    made_with = own_arguments(arguments) if name == ADMISSION else dict(arguments)
    hidden = hidden_places(made_with)
    made_with.pop(HIDDEN, None)
    try:
        environment = gymnasium.make(name, **made_with)
    except gymnasium.error.Error as error:
        raise InputError("--env", name, str(error)) from error
    except TypeError as error:
        # Gymnasium names the class and repeats everything that it was given.
        why = str(error).partition(" was raised from")[0].rpartition("__init__() ")[2]
        raise InputError("--env-argument", dict(arguments), f"{name} {why}") from error
    if not hidden:
        return environment

    def shown(observation: Any) -> Any:
        observation[hidden] = 0.0
        return observation

    wrapper = library("gymnasium.wrappers").TransformObservation
    return wrapper(environment, shown, environment.observation_space)


def own_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what our environment of admission is made with: the jobs of one split, train where none is named."""
    made_with = dict(arguments)
    workload, split = made_with.pop("workload", "uniform"), made_with.pop("split", "train")
    options = {name: made_with.pop(name) for name in SOURCE_OPTIONS if name in made_with}
    data = data_folder(options)
    options.pop("data_dir", None)
    if "settings" in options:
        options["settings"] = settings_of(options["settings"])
    source = SourceOptions(split=split, data_dir=data, **options)
    return {**made_with, "workload": stream_source(workload, source)}


def data_folder(arguments: Mapping[str, Any]) -> Path | None:
    """Return the folder of the traces: `data_dir`, else that of the variable that every verb takes it from.

    The variable is no part of a plan, so that a run goes on where the traces lie elsewhere.
    """
    inherited = os.environ.get(DATA_VARIABLE)  # noqa: TID251 - each process that trains makes its own environments
    folder = arguments.get("data_dir") or inherited
    return Path(folder) if folder else None


def observation_shape(arguments: Mapping[str, Any]) -> tuple[int, int]:
    """Return how many numbers of our observation are the cluster's, and how many slots follow."""
    wide = arguments.get("variant", "skrueue") != "skrueue"
    numbers = WIDE_CLUSTER_NUMBERS if wide else CLUSTER_NUMBERS
    return numbers, int(arguments.get("slots", SLOTS))


def on_split(name: str, arguments: Mapping[str, Any], split: str) -> dict[str, Any]:
    """Return arguments that play a split; an environment without splits differs by its seeds."""
    return {**arguments, "split": split} if name == ADMISSION else dict(arguments)


def side_by_side(
    name: str, arguments: Mapping[str, Any], count: int, seed: int, *, normalise: bool, scale: bool
) -> Any:
    """Return `count` environments as Stable-Baselines3's vector.

    Args:
        name: Gymnasium's id.
        arguments: what each is made with.
        count: how many.
        seed: of the first; the others follow.
        normalise: whether observations are brought to mean 0 and deviation 1.
        scale: whether rewards are divided by the deviation of their discounted sum.
    """
    vector = library("stable_baselines3.common.vec_env")
    monitor = library("stable_baselines3.common.monitor").Monitor

    def make_one() -> Any:
        return monitor(make_environment(name, arguments))

    if name == ADMISSION:
        made_with = own_arguments(arguments)
        environments = fast_environments(made_with, count, seed, make_environment(name, arguments))
    else:
        environments = vector.DummyVecEnv([make_one] * count)
        environments.seed(seed)
    if not (normalise or scale):
        return environments
    return vector.VecNormalize(
        environments, norm_obs=normalise, norm_reward=scale, clip_obs=CLIPPED_OBSERVATION
    )


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
