"""How each algorithm is trained: presets by name, every value of which can be set by hand.

`skrueue` holds the hyper-parameters and networks of SKRueue's three agents exactly. `reference` holds those that
RL Baselines3 Zoo publishes for CartPole-v1 and Pendulum-v1, with which its table of results was made, so that our
way of training can be checked against it. `foresail` is our own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bus.errors import InputError
from inputs.close_matches import remedy_for

ALGORITHMS = ("DQN", "PPO", "A2C", "MaskablePPO", "SAC", "TD3")
CONTINUOUS = ("SAC", "TD3")
"""Algorithms that need an action of real numbers; the first three take either, MaskablePPO and DQN a choice."""
OFF_POLICY = ("DQN", "SAC", "TD3")
ON_POLICY = ("PPO", "A2C", "MaskablePPO")
MASKED = ("MaskablePPO",)


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything about training but the environment and the seed."""

    preset: str
    algorithm: str
    steps: int
    """Environment steps in all, over every parallel environment."""
    environments: int
    """Environments that are stepped side by side."""
    layers: tuple[int, ...]
    """Hidden units of each layer; none: the library's own networks."""
    hyper_parameters: Mapping[str, Any]
    """As the library's class takes them; `linear:X` falls from X to 0, `normal:X` is noise of that deviation."""
    network: str = "flat"
    """`flat`: one over all numbers; `slots`: a small one that scores every job (`slot_network`)."""
    scale_rewards: bool = False
    """Whether learners see rewards divided by the deviation of their discounted sum."""


def _skrueue_layers(observations: int) -> tuple[int, ...]:
    if observations < 50:
        return (128, 128)
    return (256, 256, 128) if observations < 100 else (512, 256, 128)


_SKRUEUE_PPO = {
    "learning_rate": 3e-4, "n_steps": 1024, "batch_size": 64, "n_epochs": 10, "gamma": 0.99,
    "gae_lambda": 0.95, "clip_range": 0.2,
}  # fmt: skip
_SKRUEUE: dict[str, dict[str, Any]] = {
    "DQN": {
        "learning_rate": 1e-4, "buffer_size": 50_000, "learning_starts": 1_000,
        "target_update_interval": 500, "train_freq": 4, "exploration_initial_eps": 1.0,
        "exploration_final_eps": 0.05, "exploration_fraction": 0.5,
    },
    "PPO": _SKRUEUE_PPO,
    "MaskablePPO": _SKRUEUE_PPO,
    "A2C": {
        "learning_rate": 7e-4, "n_steps": 8, "gamma": 0.99, "gae_lambda": 1.0, "ent_coef": 0.01,
        "vf_coef": 0.25,
    },
}  # fmt: skip
SKRUEUE_STEPS = 20_000

_REFERENCE_PPO = {
    "learning_rate": "linear:0.001", "n_steps": 32, "batch_size": 256, "n_epochs": 20,
    "gamma": 0.98, "gae_lambda": 0.8, "clip_range": "linear:0.2", "ent_coef": 0.0,
}  # fmt: skip
_REFERENCE: dict[str, Recipe] = {
    "PPO": Recipe("reference", "PPO", 100_000, 8, (), _REFERENCE_PPO),
    "MaskablePPO": Recipe("reference", "MaskablePPO", 100_000, 8, (), _REFERENCE_PPO),
    "A2C": Recipe("reference", "A2C", 500_000, 8, (), {"ent_coef": 0.0}),
    "DQN": Recipe(
        "reference", "DQN", 50_000, 1, (256, 256),
        {
            "learning_rate": 2.3e-3, "batch_size": 64, "buffer_size": 100_000,
            "learning_starts": 1_000, "gamma": 0.99, "target_update_interval": 10,
            "train_freq": 256, "gradient_steps": 128, "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04,
        },
    ),
    "SAC": Recipe("reference", "SAC", 20_000, 1, (), {"learning_rate": 1e-3}),
    "TD3": Recipe(
        "reference", "TD3", 20_000, 1, (400, 300),
        {
            "learning_rate": 1e-3, "gamma": 0.98, "buffer_size": 200_000,
            "learning_starts": 10_000, "action_noise": "normal:0.1", "gradient_steps": 1,
            "train_freq": 1,
        },
    ),
}  # fmt: skip

_OWN_PPO = {
    "learning_rate": "linear:0.0005", "n_steps": 128, "batch_size": 1_024, "n_epochs": 5,
    "gamma": 0.995, "gae_lambda": 0.95, "clip_range": 0.2, "ent_coef": 0.003,
}  # fmt: skip
_OWN: dict[str, Recipe] = {
    "PPO": Recipe("foresail", "PPO", 500_000, 32, (128, 128), _OWN_PPO),
    "MaskablePPO": Recipe("foresail", "MaskablePPO", 500_000, 32, (32, 16), _OWN_PPO, "slots"),
    "A2C": Recipe("foresail", "A2C", 500_000, 32, (128, 128), {"ent_coef": 0.003, "gamma": 0.995}),
    "DQN": Recipe(
        "foresail", "DQN", 200_000, 8, (128, 128),
        {
            "learning_rate": 5e-4, "batch_size": 128, "buffer_size": 200_000,
            "learning_starts": 5_000, "gamma": 0.995, "target_update_interval": 1_000,
            "train_freq": 4, "gradient_steps": 4, "exploration_fraction": 0.3,
            "exploration_final_eps": 0.02,
        },
    ),
    "SAC": Recipe("foresail", "SAC", 100_000, 1, (128, 128), {"learning_rate": 7e-4, "gamma": 0.995}),
    "TD3": Recipe(
        "foresail", "TD3", 100_000, 1, (128, 128),
        {"learning_rate": 7e-4, "gamma": 0.995, "action_noise": "normal:0.1"},
    ),
}  # fmt: skip
PRESETS = ("foresail", "reference", "skrueue")


def algorithm_named(word: str) -> str:
    """Return the algorithm's name as its library writes it.

    Raises:
        InputError: there is none of that name, however it is capitalised.
    """
    by_word = {name.lower(): name for name in ALGORITHMS}
    found = by_word.get(word.lower().replace("-", ""))
    if found is None:
        raise InputError("--algorithm", word, f"give one of {', '.join(ALGORITHMS)}")
    return found


def recipe(preset: str, algorithm: str, observations: int) -> Recipe:
    """Return how an algorithm is trained by a preset.

    Args:
        preset: one of PRESETS.
        algorithm: one of ALGORITHMS.
        observations: numbers in one observation, by which SKRueue chose its networks.

    Raises:
        InputError: the preset says nothing about that algorithm.
    """
    if preset == "skrueue":
        if algorithm not in _SKRUEUE:
            remedy = f"it knows {', '.join(_SKRUEUE)}; give --preset foresail or reference"
            raise InputError("--preset", f"skrueue with {algorithm}", remedy)
        layers = _skrueue_layers(observations)
        return Recipe(preset, algorithm, SKRUEUE_STEPS, 1, layers, _SKRUEUE[algorithm])
    if preset not in PRESETS:
        raise InputError("--preset", preset, f"give one of {', '.join(PRESETS)}")
    if preset == "reference":
        return _REFERENCE[algorithm]
    return replace(_OWN[algorithm], scale_rewards=True)


def with_values(chosen: Recipe, words: list[str], accepted: frozenset[str]) -> Recipe:
    """Return a recipe with hyper-parameters set by hand.

    Args:
        chosen: the recipe.
        words: `NAME=VALUE` each; the value as JSON, or a word such as `linear:0.001`.
        accepted: names that the algorithm takes.

    Raises:
        InputError: a word is no pair, or the algorithm takes no such name.
    """
    values = dict(chosen.hyper_parameters)
    for word in words:
        name, sign, text = word.partition("=")
        if not sign:
            raise InputError("--set", word, "write it as NAME=VALUE")
        if name not in accepted:
            remedy = f"{chosen.algorithm} has no such hyper-parameter; {remedy_for(name, accepted)}"
            raise InputError("--set", name, remedy)
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return replace(chosen, hyper_parameters=values)
