"""Settings of served requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class ServingConfig:
    """How the requests of Services with traffic are simulated."""

    mode: Literal["aggregate", "exact"] = "aggregate"
    """Aggregate: each pod a queue worked out by formulas at each step (docs/twin/serving.md has how
    closely it agrees). Exact: every request on its own; about a microsecond each."""
    cold_speed: float = 0.3
    """Share of its speed at which a pod with foresail.dev/warm-up-seconds begins; no documented figure."""
