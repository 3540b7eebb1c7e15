"""What a policy's file says of itself: how it was made, on which data, how good it is, and whether it may act."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from schemas.model import DataModel

FORMAT = 1


class Agreement(DataModel):
    """The exported policy beside its framework's, on states that it met."""

    states: int = Field(ge=1)
    near_ties: int = Field(ge=0)
    """States whose two best scores are nearer than `margin`: either action is as good there."""
    differing: int = Field(ge=0)
    """States with another action, near-ties included."""
    differing_elsewhere: int = Field(ge=0)
    """Those that are no near-ties; an export with one is refused."""
    margin: float = Field(ge=0)
    """In units of the scores."""
    largest_error: float = Field(ge=0)
    """Greatest difference of a score, in their unit; of actions where these are numbers."""


class Figure(DataModel):
    """A figure of the policy on one split, over its episodes."""

    metric: str
    split: str
    workload: str
    episodes: int = Field(ge=1)
    value: float
    low: float | None = None
    """Of the 95 % interval; None where one seed says nothing of others."""
    high: float | None = None


class Gate(DataModel):
    """The answer of `foresail learn gate` about this policy."""

    experiment: str
    split: str
    seeds: int = Field(ge=1)
    code: str
    passes: bool
    first_reason: str
    weights_sha256: str
    """Of the very weights that acted there."""
    together: dict[str, str] = Field(default={}, exclude_if=lambda named: not named)
    """Weights of every policy that acted there, by agent, its own among them; empty: it acted alone."""


class PolicyCard(DataModel):
    """Everything about a policy but its numbers."""

    format: int = FORMAT
    name: str
    algorithm: str
    preset: str
    environment: str
    arguments: dict[str, Any] = {}
    """What the environment was made with for training."""
    observation: str
    """Name and version of what it sees; a policy is never given anything else."""
    observation_count: int = Field(ge=1)
    kind: Literal["choice", "priorities"]
    """One of several actions, or a number for each."""
    action_count: int = Field(ge=1)
    masked: bool
    """Whether actions that may not be taken are left out."""
    seed: int
    steps: int = Field(ge=0)
    """Of training, at which these weights were taken."""
    hyper_parameters: dict[str, Any] = {}
    layers: tuple[int, ...] = ()
    """Hidden units of each layer."""
    data_sha256: dict[str, str] = {}
    """Of the files that training read, by name."""
    weights_sha256: str
    """Of the numbers in this file."""
    development_return: float | None = None
    """Mean return on the split that chose the weights."""
    figures: tuple[Figure, ...] = ()
    agreement: Agreement | None = None
    versions: dict[str, str] = {}
    """Of the libraries that trained it."""
    gate: Gate | None = None

    @property
    def may_act(self) -> bool:
        """Say whether a gate has been passed by these very weights."""
        gate = self.gate
        return gate is not None and gate.passes and gate.weights_sha256 == self.weights_sha256

    def why_not(self) -> str:
        """Return why the policy may only be watched; empty where it may act."""
        if self.gate is None:
            return "its card holds no result of `foresail learn gate`"
        if not self.gate.passes:
            return f"the gate of {self.gate.experiment} did not pass: {self.gate.first_reason}"
        if self.gate.weights_sha256 != self.weights_sha256:
            return f"the gate of {self.gate.experiment} was passed by other weights"
        return ""
