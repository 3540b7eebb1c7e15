"""An episode on AIOpsLab's problems, from its log: what was found, what was done, and what it earned."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lab.aiopslab.findings import Findings
from lab.aiopslab.rewards import SHARED, lab_rewards
from schemas.actions import AgentName
from schemas.agents import action_label
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.prediction import Prediction, PredictionShadow, prediction_table
from services.scoreboard.predicted import demand_ratios, situation_of


@dataclass(slots=True)
class Episode:
    """Takes in the log of one run."""

    findings: Findings = field(default_factory=Findings)
    decisions: int = 0
    rewards: dict[AgentName, float] = field(default_factory=lambda: dict.fromkeys(SHARED, 0.0))
    """Sums over the decisions."""
    actions: dict[str, int] = field(default_factory=dict)
    """Actions decided, by label; noops are not counted."""
    first_seconds: float | None = None
    _risk: float | None = None

    def take(self, event: Event[Any]) -> None:
        """Take in an event."""
        self.findings.take(event)
        data = event.data
        if self.first_seconds is None and self.findings.last is not None:
            self.first_seconds = self.findings.last.cluster_time_seconds
        if isinstance(data, Prediction) and not isinstance(data, PredictionShadow):
            what, _, ratios = prediction_table(data)
            if what == "risk":
                self._risk = max(ratios, default=None) if data.status == "result" else None
        elif isinstance(data, Decision):
            self._reward(data)

    def _reward(self, decision: Decision) -> None:
        view = self.findings.last
        if view is None:
            return
        self.decisions += 1
        before = situation_of(view)
        least = min(demand_ratios(view.nodes).values(), default=None)
        for action in decision.actions:
            label = action_label(action)
            if action.kind != "noop":
                self.actions[label] = self.actions.get(label, 0) + 1
        earned = lab_rewards(decision.actions, before, risk=self._risk, min_demand=least)
        for name, amount in earned.items():
            self.rewards[name] = math.fsum((self.rewards[name], amount))


def read_episode(events: Iterable[Event[Any]]) -> Episode:
    """Return what a whole log holds."""
    episode = Episode()
    for event in events:
        episode.take(event)
    return episode
