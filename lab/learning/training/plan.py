"""What one training run is: everything that its result depends on but the machine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lab.learning.training.recipes import Recipe


@dataclass(frozen=True, slots=True)
class Plan:
    """One run of one seed."""

    environment: str
    """Gymnasium's id."""
    recipe: Recipe
    seed: int
    arguments: Mapping[str, Any] = field(default_factory=dict)
    """What the environment is made with for training."""
    development: Mapping[str, Any] = field(default_factory=dict)
    """What it is made with for choosing the best weights, on top of `arguments`."""
    evaluate_every: int = 5_000
    """Steps between two evaluations on the development split."""
    development_episodes: int = 20
    patience: int = 0
    """Looks without a better one after which the run ends; 0: it runs to its end."""
    checkpoint_every: int = 50_000
    """Steps between two checkpoints."""
    normalise: bool = False
    """Whether observations are brought to mean 0 and deviation 1 as they are seen in training."""
    masked: bool = True
    """Whether policies that can be are told which actions may be taken."""
    imitates: str = ""
    """The rule that the policy is brought to before it learns; empty: none."""

    def as_json(self) -> dict[str, Any]:
        """Return it as JSON's own types."""
        plain: dict[str, Any] = json.loads(json.dumps(asdict(self), sort_keys=True))
        return plain

    def digest(self) -> str:
        """Return SHA-256 of everything, the seed apart: equal plans differ in their seed alone."""
        rest = {name: value for name, value in self.as_json().items() if name != "seed"}
        return hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()
