"""Presets hold what others published, and values set by hand are checked."""

from __future__ import annotations

import pytest

from bus.errors import InputError
from lab.learning.training.recipes import algorithm_named, recipe, with_values


def test_skrueue_is_skrueues() -> None:
    """Hyper-parameters, networks and steps are those of its three agents."""
    dqn, ppo, a2c = (recipe("skrueue", name, 67) for name in ("DQN", "PPO", "A2C"))
    assert {one.steps for one in (dqn, ppo, a2c)} == {20_000}
    assert {one.layers for one in (dqn, ppo, a2c)} == {(256, 256, 128)}
    assert dqn.hyper_parameters == {
        "learning_rate": 1e-4, "buffer_size": 50_000, "learning_starts": 1_000, "target_update_interval": 500,
        "train_freq": 4, "exploration_initial_eps": 1.0, "exploration_final_eps": 0.05, "exploration_fraction": 0.5,
    }  # fmt: skip
    assert ppo.hyper_parameters == {
        "learning_rate": 3e-4, "n_steps": 1_024, "batch_size": 64, "n_epochs": 10, "gamma": 0.99, "gae_lambda": 0.95,
        "clip_range": 0.2,
    }  # fmt: skip
    assert a2c.hyper_parameters == {
        "learning_rate": 7e-4, "n_steps": 8, "gamma": 0.99, "gae_lambda": 1.0, "ent_coef": 0.01, "vf_coef": 0.25,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("observations", "layers"),
    [(49, (128, 128)), (50, (256, 256, 128)), (99, (256, 256, 128)), (100, (512, 256, 128))],
)
def test_skrueue_chooses_networks_by_what_is_seen(observations: int, layers: tuple[int, ...]) -> None:  # fmt: skip
    """Its networks grow with the observation, at 50 and at 100 numbers."""
    assert recipe("skrueue", "PPO", observations).layers == layers


def test_what_a_preset_does_not_know_is_refused() -> None:
    """SKRueue has no SAC; the remedy names presets that do."""
    with pytest.raises(InputError, match="--preset foresail or reference"):
        recipe("skrueue", "SAC", 67)


def test_names_are_taken_however_they_are_capitalised() -> None:
    """`ppo` and `maskable-ppo` are understood, another word is refused with the names."""
    assert algorithm_named("ppo") == "PPO"
    assert algorithm_named("maskable-ppo") == "MaskablePPO"
    with pytest.raises(InputError, match="give one of DQN, PPO, A2C"):
        algorithm_named("REINFORCE")


def test_values_set_by_hand_are_checked() -> None:
    """A value is taken as JSON or as a schedule; an unknown name is refused with a near one."""
    ppo = recipe("skrueue", "PPO", 67)
    accepted = frozenset({"learning_rate", "gamma"})
    changed = with_values(ppo, ["gamma=0.5", "learning_rate=linear:0.01"], accepted)
    assert changed.hyper_parameters["gamma"] == 0.5
    assert changed.hyper_parameters["learning_rate"] == "linear:0.01"
    assert ppo.hyper_parameters["gamma"] == 0.99
    with pytest.raises(InputError, match="did you mean gamma"):
        with_values(ppo, ["gama=0.5"], accepted)
    with pytest.raises(InputError, match="NAME=VALUE"):
        with_values(ppo, ["gamma"], accepted)
