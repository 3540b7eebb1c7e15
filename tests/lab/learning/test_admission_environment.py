"""`Foresail/KueueAdmission-v1`: the API, SKRueue's numbers and ends, and what its own code got wrong."""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from inputs.errors import InputError
from lab.learning.environments import KUEUE_ADMISSION, make
from lab.learning.environments.admission import KueueAdmissionEnv
from lab.learning.episodes import VARIANTS


def _env(variant: str = "skrueue", **settings: object) -> KueueAdmissionEnv:
    env = make(KUEUE_ADMISSION, variant=variant, **settings).unwrapped
    assert isinstance(env, KueueAdmissionEnv)
    return env


@pytest.mark.parametrize("variant", VARIANTS)
def test_gymnasium_finds_nothing_wrong(variant: str) -> None:
    """Each variant passes Gymnasium's own checker, warnings included."""
    env = gymnasium.make(KUEUE_ADMISSION, variant=variant)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)


def test_skrueue_has_67_numbers_and_11_actions() -> None:
    """The published sizes, and no slots to choose."""
    env = _env()
    assert env.observation_space.shape == (67,)
    assert env.action_space == gymnasium.spaces.Discrete(11)
    with pytest.raises(InputError, match="slots = 12"):
        _env(slots=12)


def test_the_same_seed_gives_the_same_episode() -> None:
    """Observations and rewards are equal to the bit."""
    runs = []
    for _ in range(2):
        env = _env("score")
        seen = [env.reset(seed=5)[0]]
        for _ in range(60):
            choice = int(np.flatnonzero(env.action_masks())[0])
            found, reward, *_ = env.step(choice)
            seen += [found, np.float32(reward)]
        runs.append(np.concatenate([np.atleast_1d(one) for one in seen]))
    assert np.array_equal(runs[0], runs[1])


def test_every_job_ends_in_a_counted_state() -> None:
    """An episode of `score` lasts until no job is left, and its states add up to all jobs."""
    env = _env("score")
    env.reset(seed=1)
    over = False
    while not over:
        _, _, over, cut, info = env.step(int(np.flatnonzero(env.action_masks())[0]))
        assert not cut
    states = info["states"]
    assert states["completed"] + states["failed"] == len(env.cluster.records) > 150


def test_a_masked_action_is_an_admission_that_failed() -> None:
    """Naming an empty slot admits nobody and costs a tenth."""
    env = _env()
    env.reset(seed=1)
    _, reward, _, _, info = env.step(9)
    assert info["action_result"] == {"success": False, "action_type": "admit", "job_name": None}
    assert reward == pytest.approx(-0.1)


def test_skrueue_ends_after_ten_minutes() -> None:
    """120 steps of 5 s, unless the queue is empty after the 20th."""
    env = _env()
    env.reset(seed=3)
    steps = 0
    over = cut = False
    while not (over or cut):
        _, _, over, cut, info = env.step(10)
        steps += 1
    assert (steps, over, cut, info["now_seconds"]) == (120, False, True, 600.0)
    env.reset(seed=3)
    steps, over = 0, False
    while not over:
        _, _, over, cut, info = env.step(0)
        steps += 1
    assert 20 < steps < 30
    assert info["queue_length"] == 0
