"""Variants of the admission environment, how long their steps are and when their episodes end."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

Variant = Literal["skrueue", "score", "continuous"]
VARIANTS: tuple[Variant, ...] = ("skrueue", "score", "continuous")


@dataclass(frozen=True, slots=True)
class Rules:
    """When an episode ends and how long a step is."""

    step_seconds: float | None
    """Each step takes so long; None: admissions take no time, and waiting lasts until something happens."""
    most_steps: int
    most_seconds: float
    least_steps: int
    """An empty queue ends an episode only after so many steps; without `step_seconds`, never before its jobs have."""


SKRUEUE_RULES = Rules(step_seconds=5.0, most_steps=200, most_seconds=600.0, least_steps=20)
"""`kueue.admit_interval` is the step; the ends are those of SKRueue's environment."""
SCORE_RULES = Rules(step_seconds=None, most_steps=100_000, most_seconds=inf, least_steps=0)
