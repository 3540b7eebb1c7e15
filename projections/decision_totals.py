"""Decisions and their rewards: the counts that every view of totals shares."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from schemas.agents import action_label
from schemas.decision import Decision
from schemas.outcome import OutcomeReward

MICRO = 1_000_000
"""Events hold six decimals, so sums of millionths are exact, in whatever order they are added."""


@dataclass(kw_only=True)
class DecisionTotals:
    """Counts over the decisions and rewards of one log; what it holds does not grow with the log."""

    decisions: int = 0
    actions: Counter[str] = field(default_factory=Counter)
    """Actions decided by label, e.g. `AgentA:replicate`; noops too."""
    rewards: Counter[str] = field(default_factory=Counter)
    """By agent and `total`: sums of the observed rewards, in millionths."""
    rewarded: int = 0
    """Decisions whose reward was observed."""

    def add(self, data: Any) -> None:
        """Count one event's data; other kinds than decisions and rewards count nothing."""
        if isinstance(data, Decision):
            self.decisions += 1
            self.actions.update(action_label(action) for action in data.actions)
        elif isinstance(data, OutcomeReward) and data.observed is not None:
            self.rewarded += 1
            for name, reward in (*data.observed.by_agent.items(), ("total", data.observed.total)):
                self.rewards[name] += round(reward * MICRO)

    def reward(self, name: str) -> float:
        """Return the sum of an agent's observed rewards, or of the weighted `total`."""
        return self.rewards[name] / MICRO

    @property
    def reward_mean(self) -> float | None:
        """The mean of the weighted totals, six decimals; None before any was observed."""
        return round(self.reward("total") / self.rewarded, 6) if self.rewarded else None

    @property
    def wins(self) -> Counter[str]:
        """Actions decided by who proposed them: `AgentA` and so on, or `Referee`."""
        wins: Counter[str] = Counter()
        for label, count in self.actions.items():
            wins[label.partition(":")[0]] += count
        return wins
