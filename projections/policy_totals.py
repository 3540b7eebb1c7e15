"""Totals of one policy over a recording: actions, churn, rewards, rejected opportunities."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

from projections.decision_totals import DecisionTotals
from schemas.actions import (
    Action,
    ActionKind,
    AdmissionAction,
    PowerStateAction,
    ReplicateAction,
    Target,
)
from schemas.agents import agent_names
from schemas.decision import Decision

OPPOSITE = {"off": "on", "on": "off", "close": "open", "open": "close", "up": "down", "down": "up"}
"""Directions that undo each other, as the executor's guard rail against ping-pong has them."""


def direction_of(action: Action, replicas_before: int | None = None) -> str:
    """Return which way an action moves its target; empty for those that nothing undoes.

    `replicas_before` were wanted of the same workload before; the first wish is taken to be for more.
    """
    if isinstance(action, ReplicateAction) and action.replicas is not None:
        if action.replicas == replicas_before:
            return ""
        return "up" if action.replicas > (replicas_before or 0) else "down"
    if isinstance(action, PowerStateAction):
        return "on" if action.power_state == "on" else "off"
    if isinstance(action, AdmissionAction):
        return "open" if action.admission == "admit" else "close"
    return ""


@dataclass(kw_only=True)
class PolicyTotals(DecisionTotals):
    """Counts over one chain of events; what it holds does not grow with the recording."""

    window_seconds: float
    """How long after an action its opposite counts as churn, in cluster time."""
    churn: int = 0
    """Actions that undid one on the same target within the window."""
    rejected: Counter[str] = field(default_factory=Counter)
    """By agent: proposals that wanted something and lost."""
    _replicas: dict[Target, int] = field(default_factory=dict)
    """Replicas that were wanted last, by workload."""
    _recent: deque[tuple[float, Target, str]] = field(default_factory=deque)

    def add(self, data: Any) -> None:
        """Count one event's data."""
        super().add(data)
        if isinstance(data, Decision):
            self._reject(data)
            for action in data.actions:
                self._undo(data.cluster_time_seconds, action)

    @property
    def rewarded_agents(self) -> tuple[str, ...]:
        """Who can be rewarded: the agents registered here, and others that the recording names."""
        return tuple(
            dict.fromkeys(
                (*agent_names(), *(reward for reward in self.rewards if reward != "total"))
            )
        )

    @property
    def wanted(self) -> int:
        """Decisions that wanted something done."""
        return self.decisions - sum(
            count for label, count in self.actions.items() if label.endswith(f":{ActionKind.NOOP}")
        )

    def as_names(self) -> dict[str, Any]:
        """Return the figures by the names that assertions use."""
        return {
            "decisions": self.decisions,
            "actions": self.wanted,
            "churn": self.churn,
            "rejected": self.rejected.total(),
            "reward": self.reward("total"),
            **{f"reward_{agent}": self.reward(agent) for agent in self.rewarded_agents},
        }

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return {
            **self.as_names(),
            "by_action": dict(sorted(self.actions.items())),
            "rejected_by_agent": dict(sorted(self.rejected.items())),
            "rewarded": self.rewarded,
        }

    def _reject(self, data: Decision) -> None:
        for proposal in data.considered:
            if proposal.kind is not ActionKind.NOOP and proposal.id not in data.winners:
                self.rejected[proposal.agent] += 1

    def _undo(self, now: float, action: Action) -> None:
        direction = direction_of(action, self._replicas.get(action.target))
        if isinstance(action, ReplicateAction) and action.replicas is not None:
            self._replicas[action.target] = action.replicas
        while self._recent and now - self._recent[0][0] > self.window_seconds:
            self._recent.popleft()
        if not direction:
            return
        target = action.target
        same = [recent for recent in self._recent if recent[1] == target]
        if same and same[-1][2] == OPPOSITE[direction]:
            self.churn += 1
        self._recent.append((now, target, direction))


def comparison_rows(before: PolicyTotals, after: PolicyTotals) -> list[tuple[str, float, float]]:
    """Return the figures of two sides for a table: name, before, after."""
    rows = [("reward, total", before.reward("total"), after.reward("total"))]
    agents = dict.fromkeys((*before.rewarded_agents, *after.rewarded_agents))
    rows += [(f"reward, {agent}", before.reward(agent), after.reward(agent)) for agent in agents]
    rows += [("actions", before.wanted, after.wanted), ("churn", before.churn, after.churn)]
    rows += [("rejected opportunities", before.rejected.total(), after.rejected.total())]
    labels = sorted(before.actions | after.actions)
    return rows + [(label, before.actions[label], after.actions[label]) for label in labels]
