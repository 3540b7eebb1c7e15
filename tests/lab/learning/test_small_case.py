"""The small case's optimum is what its own policy earns, and no simple rule does."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from lab.learning.baselines.play import play
from lab.learning.baselines.rules import Rule, rule_names, rule_of
from lab.learning.environments.admission import KueueAdmissionEnv
from lab.learning.simulator import Cluster
from lab.learning.small_case import ARGUMENTS, best_return, best_rule, small_stream

STREAMS = [small_stream(seed) for seed in range(400)]


def _returns(make_rule: Callable[[], Rule]) -> np.ndarray:
    """Return what a rule earns on each stream: minus the pod-hours of waiting."""
    earned = []
    for stream in STREAMS:
        cluster = Cluster(stream)
        play(cluster, make_rule())
        waits = (
            stream.jobs[index].pods * cluster.wait_seconds(index) for index in cluster.admitted
        )
        earned.append(-sum(waits) / 3_600.0)
    return np.array(earned)


def test_the_optimal_policy_earns_the_optimum_and_no_simple_rule_does() -> None:
    """Its mean over streams is the computed expectation, and every rule pays a sixth more at least."""
    best = _returns(lambda: best_rule)
    assert abs(best.mean() - best_return()) < 3.0 * best.std() / len(best) ** 0.5
    blind = [name for name in rule_names() if "truth" not in name and name != "untrained"]
    rules = {name: float(_returns(lambda name=name: rule_of(name))[:100].mean()) for name in blind}  # type: ignore[misc]
    assert 1.15 * best[:100].mean() > max(rules.values()), rules


def test_the_environment_pays_the_waits() -> None:
    """An episode's return is minus the pod-hours, and one who only waits does not end it by costing nothing."""
    env = KueueAdmissionEnv(**{**ARGUMENTS, "workload": lambda _: STREAMS[0]})  # type: ignore[arg-type]
    env.reset(seed=0)
    over, total, steps = False, 0.0, 0
    while not over:
        _, reward, over, _, _ = env.step(env.slots)
        total, steps = total + float(reward), steps + 1
        assert steps < 100
    pods = [job.pods for job in STREAMS[0].jobs]
    waits = [env.cluster.wait_seconds(index) for index in range(len(pods))]
    paid = sum(count * wait for count, wait in zip(pods, waits, strict=True)) / 3_600.0
    assert total == pytest.approx(-paid)
