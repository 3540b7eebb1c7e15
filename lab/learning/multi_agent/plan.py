"""What a training of the three agents is: policies, stages and worlds. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from bus.errors import InputError

Sharing = Literal["separate", "shared"]
"""A policy for each agent, or one for all three, which sees whose turn it is."""


@dataclass(frozen=True, slots=True)
class TrainingStage:
    """A part of training with hyper-parameters of its own; the predecessors' names."""

    train_iters: int
    learning_rate: float = 3e-4
    train_batch_size: int = 32
    """Cycles that one update learns from."""
    minibatch_size: int = 16
    num_epochs: int = 1
    rollout_fragment_length: int = 8
    """Cycles that a world plays before others learn from them."""

    def check(self) -> None:
        """Raise InputError where numbers make no sense together."""
        for name, value in asdict(self).items():
            if value <= 0:
                raise InputError(f"--stage {name}", value, "give more than 0")
        if self.minibatch_size > self.train_batch_size:
            limit = f"at most train_batch_size, {self.train_batch_size}"
            raise InputError("--stage minibatch_size", self.minibatch_size, f"give {limit}")


CURRICULA: Mapping[str, tuple[TrainingStage, ...]] = {
    "baseline": (
        TrainingStage(1, 3e-4, 32),
        TrainingStage(3, 2e-4, 64),
    ),
    "foresail": (
        TrainingStage(20, 1e-3, 240, 120, 6, 60),
        TrainingStage(20, 3e-4, 480, 240, 6, 60),
    ),
}
"""By preset: the predecessors' example, which is 224 cycles in all, and ours."""


@dataclass(frozen=True, slots=True)
class AgentsPlan:
    """Everything that a training depends on but the machine."""

    sharing: Sharing = "separate"
    stages: tuple[TrainingStage, ...] = CURRICULA["foresail"]
    seed: int = 0
    hidden: tuple[int, ...] = (64, 64)
    discount: float = 0.9
    """What an action does is seen within a few cycles."""
    world: Mapping[str, Any] = field(default_factory=dict)
    """What `Foresail/Agents-v1` is made with: variant, reward, workload, nodes, steps."""

    @property
    def variant(self) -> str:
        """Which numbers are seen."""
        return str(self.world.get("variant", "baseline"))

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON's own types."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), sort_keys=True))
        return plain


def stage_of(word: str) -> TrainingStage:
    """Return the stage that `name=value,...` says.

    Raises:
        InputError: a name is unknown, or a value is no number that makes sense.
    """
    names = list(TrainingStage.__dataclass_fields__)
    values: dict[str, Any] = {}
    for pair in word.split(","):
        name, _, text = pair.partition("=")
        if name not in names:
            raise InputError("--stage", name, f"use {', '.join(names)}")
        try:
            values[name] = float(text) if name == "learning_rate" else int(text)
        except ValueError:
            raise InputError(f"--stage {name}", text or "(nothing)", "give a number") from None
    stage = TrainingStage(**{"train_iters": 1, **values})
    stage.check()
    return stage
