"""Gymnasium's id of the three agents' world under one policy; importing this module registers it."""

from __future__ import annotations

from typing import Any

import gymnasium

from foresail.learn.agents_world import agents_env
from lab.learning.environments.one_policy import OnePolicyEnv

ONE_POLICY = "AgentsUnderOnePolicy-v1"
ONE_POLICY_ID = f"{__name__}:{ONE_POLICY}"
"""With this module in front, so that every process that makes one imports it."""


def one_policy_env(
    *, alpha: float = 1.0, beta: float = 1.0, gamma: float = 1.0, **world: Any
) -> OnePolicyEnv:
    """Return the environment; weights are those of the agents A, B and C, all else shapes its world (`agents_env`)."""
    return OnePolicyEnv(agents_env(**world), {"A": alpha, "B": beta, "C": gamma})


if ONE_POLICY not in gymnasium.registry:
    gymnasium.register(ONE_POLICY, one_policy_env)
