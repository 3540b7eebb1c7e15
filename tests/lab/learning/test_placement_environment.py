"""`Foresail/JobPlacement-v1`: the API, published nodes and reward, and what SKRueue's simulator got wrong."""

from __future__ import annotations

import warnings
from functools import partial
from random import Random

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from inputs.errors import InputError
from lab.learning.environments import JOB_PLACEMENT, make
from lab.learning.environments.placement import JobPlacementEnv
from lab.learning.jobs import State
from lab.learning.placement import NodeCluster, PlacementRule, at_random, best_fit, first_fit
from lab.learning.workloads.scenarios import (
    NODES,
    SCENARIOS,
    scenario_jobs,
    scenario_nodes,
)

HOUR = 3_600.0


def _env(scenario: str = "normal_load", hours: float = 3) -> JobPlacementEnv:
    env = make(JOB_PLACEMENT, scenario=scenario, length_seconds=hours * HOUR).unwrapped
    assert isinstance(env, JobPlacementEnv)
    return env


def _play(env: JobPlacementEnv, rule: PlacementRule, seed: int = 1) -> dict[str, float]:
    env.reset(options={"stream_seed": seed})
    cut = False
    while not cut:
        seen, _, _, cut, info = env.step(env.action_of(rule(env.cluster, env.slots)))
        assert env.observation_space.contains(seen)
    return info


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_gymnasium_finds_nothing_wrong(scenario: str) -> None:
    """Each scenario passes Gymnasium's own checker, warnings included."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(_env(scenario))


def test_the_nodes_are_the_published_ones() -> None:
    """288 cores, 1,152 GiB and 8 GPUs in sixteen nodes; 160 placements and one way to wait."""
    assert sum(node.cpu_millicores for node in NODES) == 288_000
    assert sum(node.memory_bytes for node in NODES) == 1_152 * 2**30
    assert (len(NODES), sum(node.gpus for node in NODES)) == (16, 8)
    assert int(_env().action_space.n) == 161  # type: ignore[attr-defined]


def test_rewards_are_the_published_ones() -> None:
    """A first placement onto an empty cluster, and one that does not fit."""
    env = _env()
    env.reset(options={"stream_seed": 1})
    job = env.cluster.jobs[env.cluster.queue[0]]
    waited = env.cluster.now - job.arrival_seconds
    _, reward, *_ = env.step(env.action_of((0, 0)))
    used = job.requests.cpu_millicores / 32_000
    spread = (used**2 / 16 - (used / 16) ** 2) ** 0.5
    expected = 0.1 - 0.2 * waited / HOUR + 0.3 * used + 0.2 * (1 - spread) + 0.01 * job.priority
    assert reward == pytest.approx(expected)
    empty = env.action_of((9, 0))
    assert not env.action_masks()[empty]
    assert env.step(empty)[1] == pytest.approx(-0.1)


def test_the_scenario_is_played() -> None:
    """SKRueue's evaluation ignored it; here load, bursts, sizes and nodes differ by it."""
    jobs = {name: scenario_jobs(one, 1) for name, one in SCENARIOS.items()}
    counts = {name: len(found) / 1_440 for name, found in jobs.items()}
    for name, one in SCENARIOS.items():
        assert counts[name] == pytest.approx(one.jobs_per_minute, rel=0.35), name
    burst = [job.arrival_seconds for job in jobs["burst_load"]]
    assert len(set(burst)) == len(burst) / 12
    sizes = {
        name: np.mean([job.requests.cpu_millicores for job in found])
        for name, found in jobs.items()
    }
    assert sizes["large_jobs"] > 2.5 * sizes["normal_load"]
    here = [node.cpu_millicores > 0 for node in scenario_nodes(SCENARIOS["resource_constrained"])]
    assert sum(here) == 8


def test_more_than_one_job_is_placed_in_a_tick() -> None:
    """Placing takes no time: a burst of twelve is placed at the moment of its tick."""
    env = _env("burst_load")
    env.reset(options={"stream_seed": 1})
    now, waiting = env.cluster.now, len(env.cluster.queue)
    assert waiting >= 12
    for _ in range(waiting):
        choice = first_fit(env.cluster, env.slots)
        assert choice is not None
        assert env.cluster.now == now
        env.step(env.action_of(choice))
    assert not [i for i, record in enumerate(env.cluster.records) if record.state is State.PENDING
                and env.cluster.jobs[i].arrival_seconds <= now]  # fmt: skip


def test_an_ordinary_load_is_carried() -> None:
    """Rules complete most of what has had time to end, where SKRueue's overload let 1.6 % through."""
    figures = {
        name: _play(_env(hours=6), rule)
        for name, rule in (
            ("first", first_fit),
            ("best", best_fit),
            ("random", partial(at_random, Random(1))),
        )
    }
    for name, found in figures.items():
        assert found["success_ratio"] > 0.75, name
        assert found["mean_wait_seconds"] < 400, name
        assert 20 < found["completed_jobs_per_hour"] < 32, name


def test_no_node_is_ever_overcommitted() -> None:
    """Whatever is placed under high load, free amounts stay between nothing and the node, and come back."""
    jobs = scenario_jobs(SCENARIOS["high_load"], 3, 2 * HOUR)
    cluster, random = NodeCluster(jobs, NODES), Random(2)
    while cluster.now < 12 * HOUR:
        while (choice := at_random(random, cluster, 10)) is not None:
            cluster.place(choice)
        cluster.advance(cluster.now + 60)
        for free, node in zip(cluster.free, NODES, strict=True):
            assert 0 <= free.cpu_millicores <= node.cpu_millicores
            assert 0 <= free.memory_bytes <= node.memory_bytes
            assert 0 <= free.gpus <= node.gpus
    assert cluster.free == list(NODES)


def test_an_unknown_scenario_is_refused() -> None:
    """With the names that would do."""
    with pytest.raises(InputError, match="scenario = normal: use one of normal_load, "):
        JobPlacementEnv("normal")
