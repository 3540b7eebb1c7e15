"""Inputs of an agent's reward, and what it is made of.

The scoreboard calls the same function for the observed and for the predicted situation, so that the
two totals can be compared. It finds the function in the agent's folder by its path, as services do not import
one another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import NamedTuple

from schemas.actions import Action, AgentName
from schemas.model import DataModel
from schemas.numbers import Count, Ratio, Rounded


class RewardInput(DataModel):
    """Inputs of rewards from an observation, seen or predicted."""

    queue_length: Count
    sla_violations: Count
    completed_tasks: Count
    dead_tasks: Count
    """Pods that have Failed."""
    max_demand_ratio: Ratio | None
    """Highest requested demand of a node (0.55 CPU + 0.35 memory); None without nodes."""
    energy_watts: Rounded


class RewardTerm(NamedTuple):
    """One term of a reward."""

    name: str
    amount: float
    text: str
    """The numbers it comes from."""


BASE = RewardTerm("base", 1.0, "every step")
"""The term that every agent earns in every cycle."""

RewardTerms = Callable[[Action, RewardInput, float | None], Iterable[RewardTerm]]
"""(action, situation after it, highest predicted risk or None) -> the terms that apply."""


def reward_terms_of(agent: AgentName) -> RewardTerms:
    """Return the function that the folder of a registered agent names as its reward."""
    terms: RewardTerms = import_module(f"services.agents.{agent}").AGENT.reward
    return terms
