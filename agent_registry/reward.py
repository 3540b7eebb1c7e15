"""What an agent's reward is computed from, and what it is made of.

The scoreboard calls the same function for the observed and for the predicted situation, so that the
two totals can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from schemas.actions import Action
from schemas.model import DataModel
from schemas.numbers import Count, Ratio, Rounded


class Situation(DataModel):
    """What rewards read of an observation, seen or predicted."""

    queue_length: Count
    sla_violations: Count
    completed_tasks: Count
    dead_tasks: Count
    """Pods that have Failed."""
    max_demand_ratio: Ratio | None
    """Highest requested demand of a node (0.55 CPU + 0.35 memory); None without nodes."""
    energy_watts: Rounded


class Term(NamedTuple):
    """One term of a reward."""

    name: str
    amount: float
    text: str
    """The numbers it comes from."""


BASE = Term("base", 1.0, "every step")
"""The term that every agent earns in every cycle."""

RewardTerms = Callable[[Action, Situation, float | None], Iterable[Term]]
"""(action, situation after it, highest predicted risk or None) -> the terms that apply."""
