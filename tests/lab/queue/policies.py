"""Policies whose choice is known, for tests."""

from __future__ import annotations

import numpy as np

from lab.learning.comparison.learned_rule import ENVIRONMENT
from services.learned_policy.card import Gate, PolicyCard
from services.learned_policy.choice import LearnedPolicy
from services.learned_policy.file import arrays_of, weights_digest
from services.learned_policy.network import ONE, TANH_POINTS, Layer, Network


def liking_policy(
    *, best: int, masked: bool, environment: str = ENVIRONMENT, passes: bool = False
) -> LearnedPolicy:
    """Return a policy that likes one action best, then the lower ones, whatever it sees; `passes`: it may act."""
    bias = -ONE * np.arange(11, dtype=np.int64)
    bias[best] = ONE
    layer = Layer(np.zeros((11, 67), dtype=np.int64), bias, "none")
    tanh = np.round(np.tanh(np.arange(TANH_POINTS) / 1_024) * ONE).astype(np.int64)
    network = Network((layer,), tanh)
    weights = weights_digest(arrays_of(network))
    gate = Gate(
        experiment="test", split="test", seeds=20, code="", passes=True, first_reason="", weights_sha256=weights
    ) if passes else None  # fmt: skip
    card = PolicyCard(
        name="likes", algorithm="PPO", preset="none", environment=environment, observation="skrueue-10.v1",
        observation_count=67, kind="choice", action_count=11, masked=masked, seed=0, steps=0,
        weights_sha256=weights, gate=gate,
    )  # fmt: skip
    return LearnedPolicy(card, network)
