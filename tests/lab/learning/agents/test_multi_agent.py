"""What RLlib is given: stages, equal spaces for a shared policy, and rules on the same scale as learners."""

from __future__ import annotations

from functools import partial

import pytest

pytest.importorskip("pettingzoo", reason="needs the extra `learn`")

from bus.errors import InputError
from foresail.learn.agents_training import gain, make_agents_env
from lab.learning.multi_agent.plan import CURRICULA, TrainingStage, stage_of
from lab.learning.multi_agent.worlds import shared_view

WORLD = {"nodes": 4, "workload": "google2011", "steps": 8}
make = partial(make_agents_env, WORLD)


def test_a_shared_policy_sees_whose_turn_it_is() -> None:
    """Nine numbers and five actions for each; an action that an agent does not have is its first."""
    env = shared_view(make(1))
    try:
        seen, _ = env.reset(seed=3)
        assert [list(seen[name][6:]) for name in "ABC"] == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
        assert {env.action_space(name).n for name in "ABC"} == {5}
        beyond = env.step({"A": 4, "B": 0, "C": 0})[1]
        env.reset(seed=3)
        assert env.step({"A": 0, "B": 0, "C": 0})[1] == beyond
    finally:
        env.close()


@pytest.mark.parametrize(
    ("word", "words"),
    [("train_iter=1", "use train_iters"), ("train_iters=x", "give a number"),
     ("train_iters=0", "give more than 0"), ("minibatch_size=64", "at most train_batch_size")],
)  # fmt: skip
def test_a_stage_that_makes_no_sense_is_refused(word: str, words: str) -> None:
    """By the name of its number."""
    with pytest.raises(InputError, match=words):
        stage_of(word)


def test_the_predecessors_curriculum() -> None:
    """One update of 32 cycles at 3e-4, then three of 64 at 2e-4."""
    assert CURRICULA["baseline"] == (TrainingStage(1, 3e-4, 32), TrainingStage(3, 2e-4, 64))
    assert stage_of("train_iters=3,learning_rate=0.0002,train_batch_size=64") == TrainingStage(
        3, 2e-4, 64
    )


def test_an_unknown_setting_of_the_world_is_named() -> None:
    """With those that there are."""
    with pytest.raises(InputError, match="variant, reward, workload, nodes and steps"):
        make_agents_env({"node": 4}, 1)


def test_gain_is_paired() -> None:
    """Of equal differences the interval has no width."""
    assert gain([3.0, 5.0], [1.0, 3.0]) == "2 (2 to 2)"
