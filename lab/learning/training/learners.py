"""The learners of Stable-Baselines3 and sb3-contrib behind one door: built, loaded, and asked for an action."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bus.errors import InputError
from lab.learning.evaluation.episodes import Mask, Observation
from lab.learning.libraries import library
from lab.learning.training.recipes import CONTINUOUS, MASKED, OFF_POLICY, Recipe
from lab.learning.training.slot_network import slot_policy

NOT_SET_BY_HAND = frozenset(
    {"self", "policy", "env", "seed", "device", "verbose", "tensorboard_log", "policy_kwargs"}
)


def learner_class(algorithm: str) -> Any:
    """Return the library's class; raises InputError where the extra is missing."""
    module = "sb3_contrib" if algorithm in MASKED else "stable_baselines3"
    return getattr(library(module), algorithm)


def accepted_values(algorithm: str) -> frozenset[str]:
    """Return the names of the hyper-parameters that an algorithm takes."""
    names = inspect.signature(learner_class(algorithm).__init__).parameters
    return frozenset(name for name in names if not name.startswith("_")) - NOT_SET_BY_HAND


def check_spaces(algorithm: str, environment: Any) -> None:
    """Raise InputError where the algorithm cannot learn in this environment."""
    spaces = library("gymnasium.spaces")
    name = environment.spec.id
    if not isinstance(environment.observation_space, spaces.Box):
        raise InputError("--env", name, "its observations are no vector of numbers")
    discrete = isinstance(environment.action_space, spaces.Discrete)
    if algorithm in CONTINUOUS and discrete:
        remedy = "it needs actions of real numbers; take DQN, PPO, A2C or MaskablePPO here"
        raise InputError("--algorithm", algorithm, remedy)
    if algorithm in (*MASKED, "DQN") and not discrete:
        raise InputError("--algorithm", algorithm, "it needs a choice of actions; take SAC or TD3")
    if algorithm in MASKED and not environment.has_wrapper_attr("action_masks"):
        remedy = f"{name} says nothing of actions that may not be taken; take PPO"
        raise InputError("--algorithm", algorithm, remedy)


def build(
    recipe: Recipe, environments: Any, seed: int, tensorboard: Path, shape: tuple[int, int]
) -> Any:
    """Return an untrained learner.

    Args:
        recipe: algorithm, network and hyper-parameters.
        environments: Stable-Baselines3's vector of environments.
        seed: of its weights and of what it tries.
        tensorboard: folder of its logs.
        shape: numbers of the cluster in an observation, and slots; of the network `slots` alone.

    Raises:
        InputError: a hyper-parameter has a value that the library refuses.
    """
    policy: Any = "MlpPolicy"
    if recipe.network == "slots":
        policy = slot_policy(recipe.algorithm in MASKED, *shape, recipe.layers)
    values = {name: _value(value, environments) for name, value in recipe.hyper_parameters.items()}
    flat = recipe.layers and recipe.network == "flat"
    networks = {"net_arch": list(recipe.layers)} if flat else None
    try:
        return learner_class(recipe.algorithm)(
            policy, environments, seed=seed, device="cpu", policy_kwargs=networks,
            tensorboard_log=str(tensorboard), **values,
        )  # fmt: skip
    except (AssertionError, TypeError, ValueError) as error:
        raise InputError(
            "--set", recipe.hyper_parameters, f"{recipe.algorithm}: {error}"
        ) from error


def load(algorithm: str, path: Path, environments: Any = None) -> Any:
    """Return a learner from its file.

    Raises:
        InputError: the file is not there, or not one of this algorithm.
    """
    if not path.is_file():
        raise InputError("model", path, "there is no such file; train first")
    try:
        return learner_class(algorithm).load(path, env=environments, device="cpu")
    except (AttributeError, KeyError, RuntimeError, ValueError) as error:
        raise InputError(
            "model", path, f"no {algorithm} model can be read there: {error}"
        ) from error


def has_memory(algorithm: str) -> bool:
    """Say whether the learner keeps what it has seen, which a resumed run needs as well."""
    return algorithm in OFF_POLICY


class LearnerPolicy:
    """A learner's best action, by its framework."""

    def __init__(
        self, algorithm: str, learner: Any, normalise: Callable[[Any], Any] | None = None
    ) -> None:
        """Take the learner, and what its observations go through first."""
        self._masked = algorithm in MASKED
        self._learner = learner
        self._normalise = normalise

    def choose(self, observation: Observation, mask: Mask | None) -> Any:
        """Return the most probable or most valuable action."""
        given = observation if self._normalise is None else self._normalise(observation)
        more: Mapping[str, Any] = {"action_masks": mask} if self._masked else {}
        action, _ = self._learner.predict(given, deterministic=True, **more)
        return action if np.ndim(action) else int(action)


def _value(value: Any, environments: Any) -> Any:
    """Return what the library takes for a value of a recipe."""
    if not isinstance(value, str):
        return value
    kind, _, number = value.partition(":")
    if kind == "linear":
        start = _number(value, number)
        return lambda left: left * start
    if kind == "normal":
        size = environments.action_space.shape
        noise = library("stable_baselines3.common.noise").NormalActionNoise
        return noise(np.zeros(size), _number(value, number) * np.ones(size))
    return value


def _number(value: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError("--set", value, "write a number after the colon") from None
