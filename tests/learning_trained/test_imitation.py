"""Policies that begin as a rule, and the two things that made them wait for ever."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bus.errors import InputError
from inputs.clock import SystemClock
from lab.learning.evaluation.episodes import play
from lab.learning.observation import action_mask
from lab.learning.simulator import Cluster
from lab.learning.training import imitation
from lab.learning.training.environments import ADMISSION, make_environment, on_split
from lab.learning.training.evaluating import Development
from lab.learning.training.plan import Plan
from lab.learning.training.recipes import recipe
from lab.learning.training.run import read_curve, train
from lab.learning.workloads.sources import SourceOptions, stream_source

SHORT = {"variant": "score", "length_seconds": 600, "slots": 12, "reward": "slowdown"}
PLAN = Plan(
    ADMISSION, replace(recipe("foresail", "MaskablePPO", 121), steps=256, environments=2), seed=0,
    arguments=SHORT, evaluate_every=256, development_episodes=4, imitates="sjf+fit",
)  # fmt: skip


def test_a_policy_begins_as_the_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before its first step it does what the rule does in nine of ten decisions, and its first evaluation says so."""
    agreed: list[float] = []

    def kept(learner: Any, plan: Plan) -> float:
        agreed.append(imitation.imitate(learner, plan))
        return agreed[0]

    monkeypatch.setattr("lab.learning.training.run.imitate", kept)
    train(PLAN, tmp_path / "run", SystemClock(), lambda share: None)
    assert agreed[0] > 0.9
    assert read_curve(tmp_path / "run")[0].steps == 0


@pytest.mark.parametrize(
    ("plan", "wrong"),
    [
        (replace(PLAN, recipe=recipe("foresail", "DQN", 121)), "--imitate"),
        (replace(PLAN, environment="CartPole-v1"), "rules know"),
        (replace(PLAN, imitates="nobody"), "rule"),
    ],
)
def test_what_cannot_begin_as_a_rule_is_refused(plan: Plan, wrong: str) -> None:
    """By the flag's name and with the remedy."""
    with pytest.raises(InputError, match=wrong):
        imitation.check_imitation(plan)


def test_waiting_is_masked_while_somebody_fits() -> None:
    """Alone among equals waiting is one action, so the likeliest action may be to wait however often somebody is
    admitted; a work-conserving mask takes it away as long as somebody fits, and only then.
    """
    cluster = Cluster(stream_source("uniform", SourceOptions(length_seconds=600))(0))
    cluster.advance(100.0)
    assert action_mask(cluster, 12)[12]
    assert not action_mask(cluster, 12, work_conserving=True)[12]
    while (fitting := np.flatnonzero(action_mask(cluster, 12, work_conserving=True)))[0] != 12:
        cluster.admit(cluster.slots(12)[int(fitting[0])])
    assert fitting.tolist() == [12]


def test_episodes_played_together_are_those_played_alone() -> None:
    """Returns and lengths on the development split are the same to the last step."""

    class First:
        """Takes the first action that the mask allows."""

        def choose(self, observation: Any, mask: Any) -> Any:
            """Return it, of one observation or of many."""
            del observation
            return np.argmax(mask, axis=-1)

    seeds = range(1_000_000, 1_000_004)
    together = Development(PLAN, seeds).episodes(First())
    arguments = on_split(ADMISSION, SHORT, "development")
    alone = list(play(First(), lambda: make_environment(ADMISSION, arguments), seeds))
    assert [one.length for one in together] == [one.length for one in alone]
    assert [one.total for one in together] == pytest.approx([one.total for one in alone])
    assert len({one.total for one in together}) > 1
