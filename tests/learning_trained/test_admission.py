"""Training on Kueue's admission: many clusters at once are the environment, and learning comes near a known optimum."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from inputs.clock import SystemClock
from lab.learning.backend import Backend
from lab.learning.baselines.play import play
from lab.learning.comparison.contestants import exported, learned_arm, trained
from lab.learning.comparison.learned_rule import View
from lab.learning.export.export import export_run, write_policy
from lab.learning.simulator import Cluster
from lab.learning.training.environments import (
    ADMISSION,
    make_environment,
    own_arguments,
    side_by_side,
)
from lab.learning.training.fast_vector import MOST_SEED
from lab.learning.training.plan import Plan
from lab.learning.training.recipes import recipe
from lab.learning.training.run import train
from lab.learning.workloads.sources import stream_source


@pytest.mark.parametrize("variant", ["skrueue", "score"])
def test_clusters_together_are_the_environment(variant: str) -> None:
    """Observations, masks, rewards and ends of the vector are those of single environments that play its streams."""
    arguments = {"variant": variant}
    vector = side_by_side(ADMISSION, arguments, 3, 7, normalise=False, scale=False)
    source, random = own_arguments(arguments)["workload"], Random("7/streams")
    seeds = [random.randrange(MOST_SEED) for _ in range(3)]
    singles = [make_environment(ADMISSION, arguments) for _ in seeds]
    assert source(seeds[0]).jobs == stream_source("uniform")(seeds[0]).jobs
    seen = [
        single.reset(options={"stream_seed": seed})[0]
        for single, seed in zip(singles, seeds, strict=True)
    ]
    np.testing.assert_allclose(vector.reset(), seen, atol=1e-6)
    for _ in range(60):
        masks = np.array(vector.env_method("action_masks"))
        assert [list(mask) for mask in masks] == [
            list(single.unwrapped.action_masks()) for single in singles
        ]
        actions = masks.argmax(axis=1)
        steps = [single.step(int(action)) for single, action in zip(singles, actions, strict=True)]
        observations, rewards, ends, _ = vector.step(actions)
        np.testing.assert_allclose(rewards, [one[1] for one in steps], atol=1e-4)
        assert list(ends) == [one[2] or one[3] for one in steps]
        if ends.any():
            return
        np.testing.assert_allclose(observations, [one[0] for one in steps], atol=1e-6)


def test_an_exported_policy_admits_as_its_run_does(tmp_path: Path) -> None:
    """Run and file, as rules, want the same job at every decision of a stream of the test split, near-ties apart.

    The file is followed to the end: a policy that would wait for ever is not obeyed.
    """
    short = replace(recipe("foresail", "MaskablePPO", 103), steps=4_096, environments=8)
    plan = Plan(
        ADMISSION, short, seed=0, arguments={"variant": "score"}, evaluate_every=4_096, development_episodes=1
    )  # fmt: skip
    train(plan, tmp_path / "run" / "seed-0", SystemClock(), lambda share: None)
    policy = export_run(tmp_path / "run" / "seed-0", "short", states=2_000)
    assert policy.card.observation == "wide-10.v1"
    assert policy.card.agreement is not None
    write_policy(policy, tmp_path / "short.policy")
    by_run = learned_arm("run", list(trained(tmp_path / "run"))).seeds[0]()
    by_file = learned_arm("file", [exported(tmp_path / "short.policy")]).seeds[0]()
    view, margin, differing = View.of(plan.arguments), policy.card.agreement.margin, 0

    def followed(cluster: Backend) -> int | None:
        nonlocal differing
        wanted = by_file(cluster)
        if by_run(cluster) != wanted:
            differing += 1
            choice = policy.choose(view.observe(cluster), view.mask(cluster))
            assert choice.margin is not None
            assert choice.margin < margin
        return wanted

    cluster = Cluster(stream_source("uniform", split="test")(0))
    play(cluster, followed)
    assert len(cluster.admitted) == len(cluster.stream.jobs)
    assert differing < 5


@pytest.mark.parametrize("hidden", [[5, 6, 10, 16], "history"])
def test_hidden_numbers_are_not_seen(hidden: list[int] | str) -> None:
    """An ablation hides numbers in the single environment and in the vector alike; `history` names some."""
    arguments = {"variant": "skrueue", "hidden": hidden}
    vector = side_by_side(ADMISSION, arguments, 2, 1, normalise=False, scale=False)
    single = make_environment(ADMISSION, arguments)
    vector.reset()
    single.reset(seed=1)
    for _ in range(30):
        observations, *_ = vector.step(np.zeros(2, np.int64))
        seen, *_ = single.step(0)
    assert not observations[:, [5, 6, 10, 16]].any()
    assert not seen[[5, 6, 10, 16]].any()
    assert seen[2] > 0.0
