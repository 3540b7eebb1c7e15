"""Payloads whose jobs train: a policy for the three agents, and a booster of failure risk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from lab.forecast.risk.booster_profiles import PARAMETERS
from lab.sessions.base_payload import BasePayload

POLICY_NAMES = (
    *("alpha", "beta", "gamma", "learning_rate", "train_batch", "minibatch", "epochs"),
    "fragment_divisor",
)
HEURISTIC_WEIGHT = 0.05
"""Of the rules' own total in the predecessors' objective."""


class PolicyPayload(BasePayload):
    """PPO in a world of the three agents, and the agents' own rules in the same episodes.

    The names of a job are the weights of the agents' rewards and PPO's parameters.
    """

    kind: Literal["policy"]
    workload: str = "openb"
    nodes: int = Field(default=6, ge=1)
    steps: int = Field(default=60, ge=4)
    """Cycles of an episode."""
    timesteps: int = Field(default=512, ge=1)
    """Cycles of training."""
    episodes: int = Field(default=2, ge=1)
    """Of the evaluation, the same for every job."""
    seed: int = Field(default=0, ge=0)
    rank_by: str = "metrics.score"


class BoosterPayload(BasePayload):
    """A booster trained on a dataset of `foresail forecast dataset`; names are `profile` and its parameters."""

    kind: Literal["booster"]
    dataset: str = Field(min_length=1)
    horizons: tuple[int, ...] = ()
    """Minutes; none: those of the dataset."""
    seed: int = Field(default=42, ge=0)
    rank_by: str = "metrics.score"


BOOSTER_NAMES = ("profile", *PARAMETERS)


@dataclass(frozen=True, slots=True)
class PolicyValues:
    """Values of one policy job; the defaults are the predecessors' own."""

    alpha: float = 1.0
    beta: float = 0.6
    gamma: float = 0.8
    learning_rate: float = 3e-4
    train_batch: int = 64
    minibatch: int = 32
    epochs: int = 2
    fragment_divisor: int = 1
    """Worlds side by side; each plays this part of a batch."""
