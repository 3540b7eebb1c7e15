"""Our environment many times at once, as Stable-Baselines3 takes vectors of environments."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from lab.learning.fast.clusters import FastClusters
from lab.learning.jobs import JobStream
from lab.learning.libraries import library
from lab.learning.observation import HIDDEN, hidden_places

STREAMS = 512
"""Drawn from the seed before training; each cluster plays its share of them, round and round."""
MOST_SEED = 2**31 - 1


def fast_environments(arguments: Mapping[str, Any], count: int, seed: int, probe: Any) -> Any:
    """Return `count` clusters as one vector.

    Args:
        arguments: of the environment, its source of streams among them.
        count: clusters.
        seed: of the streams.
        probe: one environment made with the same arguments, for its spaces.
    """
    made_with = dict(arguments)
    source, hidden = made_with.pop("workload"), hidden_places(made_with)
    made_with.pop(HIDDEN, None)
    random = Random(f"{seed}/streams")
    streams: list[JobStream] = [
        source(random.randrange(MOST_SEED)) for _ in range(max(STREAMS, count))
    ]
    library("numba")
    vector = FastVector(FastClusters(streams, count, **made_with), probe, tuple(hidden))
    library("stable_baselines3.common.vec_env").VecEnv.register(FastVector)
    return vector


class FastVector:
    """The members of Stable-Baselines3's VecEnv, whose base class is not there without the extra."""

    render_mode = None
    metadata: Mapping[str, Any] = {"render_modes": []}

    def __init__(self, clusters: FastClusters, probe: Any, hidden: tuple[int, ...]) -> None:
        """Step these clusters; `probe` knows the spaces."""
        self.num_envs = clusters.count
        self.observation_space, self.action_space = probe.observation_space, probe.action_space
        self.reset_infos: list[dict[str, Any]] = [{} for _ in range(clusters.count)]
        self._clusters, self._hidden = clusters, list(hidden)
        self._masks = np.zeros((clusters.count, 1), np.bool_)
        self._returns = np.zeros(clusters.count)
        self._lengths = np.zeros(clusters.count, np.int64)
        self._actions: Any = None

    @property
    def unwrapped(self) -> FastVector:
        """Itself."""
        return self

    def reset(self) -> Any:
        """Begin every cluster's first stream."""
        observations, self._masks = self._clusters.reset()
        self._returns[:] = 0.0
        self._lengths[:] = 0
        return self._shown(observations)

    def step(self, actions: Any) -> Any:
        """Step all clusters; return observations, rewards, ends and infos."""
        outputs = self._clusters.step(actions)
        self._masks = outputs.masks
        ends = outputs.terminated | outputs.truncated
        self._returns += outputs.rewards
        self._lengths += 1
        infos: list[dict[str, Any]] = [{} for _ in range(self.num_envs)]
        last = self._shown(outputs.final_observations) if ends.any() else None
        for place in np.flatnonzero(ends):
            assert last is not None
            infos[place] = {
                "terminal_observation": last[place],
                "TimeLimit.truncated": bool(outputs.truncated[place]),
                "episode": {
                    "r": float(self._returns[place]),
                    "l": int(self._lengths[place]),
                    "t": 0.0,
                },
            }
        self._returns[ends], self._lengths[ends] = 0.0, 0
        rewards = outputs.rewards.astype(np.float32)
        return self._shown(outputs.observations), rewards, ends.copy(), infos

    def step_async(self, actions: Any) -> None:
        """Keep the actions of a step."""
        self._actions = actions

    def step_wait(self) -> Any:
        """Step with the actions kept."""
        return self.step(self._actions)

    def env_method(self, method_name: str, *values: Any, **named: Any) -> list[Any]:
        """Return the masks of all clusters: the one method that learners call."""
        del values, named
        if method_name != "action_masks":
            raise AttributeError(method_name)
        return list(self._masks.copy())

    def has_attr(self, attr_name: str) -> bool:
        """Say whether clusters have something."""
        return attr_name == "action_masks"

    def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
        """Return what clusters have of a name; nothing but the rendering that there is none of."""
        del indices
        if attr_name != "render_mode":
            raise AttributeError(attr_name)
        return [None] * self.num_envs

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Refuse: clusters have nothing that could be set."""
        del value, indices
        raise AttributeError(attr_name)

    def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
        """Say that nothing wraps the clusters; returns of episodes are counted here."""
        del indices
        return [wrapper_class.__name__ == "Monitor"] * self.num_envs

    def seed(self, seed: int | None = None) -> list[int | None]:
        """Return nothing new: the streams were drawn from the seed already."""
        return [seed] * self.num_envs

    def close(self) -> None:
        """Nothing is held open."""

    def _shown(self, observations: Any) -> Any:
        shown = observations.copy()
        shown[:, self._hidden] = 0.0
        return shown
