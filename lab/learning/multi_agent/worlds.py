"""`Foresail/Agents-v1` as RLlib wants it, and whole episodes of policies, rules and chance on the same scale."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.learning.environments.agents import AgentsEnv
from lab.learning.libraries import library
from services.agents.learned_actions import KINDS, LETTERS
from services.agents.learned_observation import agent_observation_of, whose_turn
from services.learned_policy.choice import LearnedPolicy

MakeEnv = Callable[[int], AgentsEnv]
"""Seed of its first world -> an environment."""
Vector = NDArray[np.float32]
Choose = Callable[[Mapping[str, Vector]], Mapping[str, int]]
"""(what each agent sees, by its letter) -> its action; who is left out follows its rules."""
ACTIONS = max(map(len, KINDS.values()))


def shared_view(env: AgentsEnv) -> Any:
    """Return the environment with equal spaces for all: each sees whose turn it is, too; an action that an agent
    does not have is its first.
    """
    spaces = library("gymnasium.spaces")
    base: Any = library("pettingzoo.utils").BaseParallelWrapper

    class SharedView(base):  # type: ignore[misc]
        """All three agents in the same spaces."""

        def observation_space(self, agent: str) -> Any:
            """Return the agent's numbers and three more."""
            count = self.env.observation_space(agent).shape[0] + len(LETTERS)
            return spaces.Box(0.0, np.inf, (count,), np.float32)

        def action_space(self, agent: str) -> Any:
            """Return as many actions as the one with most has."""
            del agent
            return spaces.Discrete(ACTIONS)

        def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
            """Begin an episode."""
            seen, infos = self.env.reset(seed=seed, options=options)
            return _with_turns(seen), infos

        def step(self, actions: Mapping[str, int]) -> Any:
            """Play a cycle."""
            known = {name: _known(LETTERS[name], int(one)) for name, one in actions.items()}
            seen, *rest = self.env.step(known)
            return (_with_turns(seen), *rest)

    return SharedView(env)


def _with_turns(seen: Mapping[str, Vector]) -> dict[str, Vector]:
    return {
        name: np.concatenate([numbers, whose_turn(LETTERS[name])]) for name, numbers in seen.items()
    }


def _known(agent: str, action: int) -> int:
    return action if action < len(KINDS[agent]) else 0


@dataclass(frozen=True, slots=True)
class AgentsEpisode:
    """What came of one episode, on the one scale of the scoreboard."""

    seed: int
    total: float
    """Weighted total of all decisions (`AgentsEnv.episode_total`)."""
    own: Mapping[str, float]
    """What each agent was paid, by its letter; empty where the reward is the total."""
    dollars_per_hour: float
    """The outcome score, of what the cluster showed and not of what was intended; NaN where it was never told."""
    components: Mapping[str, float]
    """Its components, dollars per hour each; costs are below 0."""


def play_agents(env: AgentsEnv, choose: Choose, seeds: Sequence[int]) -> list[AgentsEpisode]:
    """Return an episode for each seed; the same seeds give everybody the same worlds."""
    episodes = []
    for seed in seeds:
        seen, _ = env.reset(seed=seed)
        own = dict.fromkeys(LETTERS, 0.0)
        while env.agents:
            seen, rewards, *_ = env.step(choose(seen))
            for name, reward in rewards.items():
                own[name] += reward
        dollars, components = env.outcome_score
        episodes.append(
            AgentsEpisode(
                seed, env.episode_total, own, nan if dollars is None else dollars, components
            )
        )
    return episodes


def by_rules(seen: Mapping[str, Vector]) -> Mapping[str, int]:
    """Leave all three to their own rules."""
    del seen
    return {}


def by_draw(random: Random) -> Choose:
    """Return what draws each agent's action, all as likely."""

    def choose(seen: Mapping[str, Vector]) -> Mapping[str, int]:
        return {name: random.randrange(len(KINDS[LETTERS[name]])) for name in seen}

    return choose


def by_policies(policies: Mapping[str, LearnedPolicy]) -> Choose:
    """Return what exported policies choose, by the agent's letter."""

    def action(name: str, numbers: Vector) -> int:
        policy, kinds = policies[name], KINDS[LETTERS[name]]
        seen = agent_observation_of(LETTERS[name], numbers, policy.card.arguments)
        return policy.choose(seen, np.arange(policy.card.action_count) < len(kinds)).action

    def choose(seen: Mapping[str, Vector]) -> Mapping[str, int]:
        return {name: action(name, numbers) for name, numbers in seen.items() if name in policies}

    return choose
