"""The fast simulator is the plain one: same observations, masks, rewards and ends, whatever is done."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
import pytest

from lab.learning.baselines.play import result_of
from lab.learning.environments.admission import KueueAdmissionEnv
from lab.learning.episodes import VARIANTS, Variant
from lab.learning.fast.clusters import FastClusters
from lab.learning.jobs import JobStream
from lab.learning.rewards import REWARDS, Reward
from lab.learning.workloads.sources import SourceOptions, stream_source
from tests.lab.learning.streams import random_stream


def _choice(random: Random, variant: Variant, mask: Any, slots: int) -> Any:
    if variant == "continuous":
        return np.array([random.uniform(-1, 1) for _ in range(slots)], np.float32)
    if random.random() < 0.2:
        return random.randrange(-1, slots + 2)  # also what is masked or out of range
    return random.choice(np.flatnonzero(mask).tolist())


def _compare(streams: Sequence[JobStream], variant: Variant, reward: Reward, slots: int) -> int:
    """Play the streams in both, one cluster each, and compare every step; return the number of steps."""
    works = reward == "aged"
    fast = FastClusters(
        streams, len(streams), variant, slots=slots, reward=reward, work_conserving=works
    )
    seen, masks = fast.reset()
    envs = [
        KueueAdmissionEnv(
            variant,
            lambda _, stream=stream: stream,
            slots=slots,
            reward=reward,
            work_conserving=works,
        )
        for stream in streams
    ]
    for env, row, mask in zip(envs, seen, masks, strict=True):
        assert np.allclose(env.reset(seed=0)[0], row, atol=1e-6)
        assert np.array_equal(env.action_masks(), mask)
    random = Random(f"{variant}/{reward}")
    left, steps = set(range(len(streams))), 0
    while left:
        actions = [_choice(random, variant, mask, slots) for mask in masks]
        outputs = fast.step(np.array(actions))
        for c in sorted(left):
            env, steps = envs[c], steps + 1
            found, earned, over, cut, info = env.step(actions[c])
            ends = bool(outputs.terminated[c]), bool(outputs.truncated[c])
            row = outputs.final_observations[c] if over or cut else outputs.observations[c]
            assert ends == (over, cut)
            assert np.allclose(found, row, atol=1e-6), (c, steps, np.flatnonzero(found != row))
            assert outputs.rewards[c] == pytest.approx(earned, abs=1e-9)
            if over or cut:
                left.remove(c)
                result = result_of(env.cluster)
                assert outputs.final_slowdown[c] == pytest.approx(result.mean_bounded_slowdown)
                assert outputs.final_wait[c] == pytest.approx(result.mean_wait_seconds)
                states = info["states"]
                assert (outputs.final_completed[c], outputs.final_failed[c]) == (
                    states["completed"],
                    states["failed"],
                )
            else:
                assert np.array_equal(env.action_masks(), outputs.masks[c])
    return steps


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("reward", REWARDS)
def test_random_streams_fare_the_same(variant: Variant, reward: Reward) -> None:
    """Every number of every step, over streams with everything in them."""
    streams = [random_stream(seed) for seed in range(12)]
    assert _compare(streams, variant, reward, 10) > 300


def test_who_stands_behind_the_slots_is_the_same() -> None:
    """With three slots most of the queue lies beyond them."""
    assert _compare([random_stream(seed, 60) for seed in range(6)], "score", "score", 3) > 300


def test_the_published_workload_fares_the_same() -> None:
    """SKRueue's hour of 179 jobs, and Lublin's model."""
    for name in ("uniform", "lublin-256"):
        source = stream_source(name, SourceOptions(count=60))
        _compare([source(seed) for seed in range(3)], "score", "slowdown", 10)


def test_streams_go_round() -> None:
    """Cluster 1 of two plays the streams 1, 3, 1 and so on; the first episode comes again."""
    streams = [random_stream(seed, 6) for seed in range(4)]
    fast = FastClusters(streams, 2, "score")
    first = fast.reset()[0].copy()
    played = [fast.state.stream.tolist()]
    ends = np.zeros(2, dtype=int)
    while ends.min() < 2:
        outputs = fast.step(np.argmax(fast.outputs.masks, axis=1))
        ends += outputs.terminated
        if outputs.terminated[1]:
            played.append(fast.state.stream.tolist())
    assert [streams[1] for _, streams in enumerate(played)][:3] == [1, 3, 1]
    assert np.array_equal(fast.reset()[0], first)
