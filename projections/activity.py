"""What a span of a log holds for whoever looks after the cluster: by day, what was or would have been done, what it
would have touched, what was refused and why, and how often the risk was right.

A fold of stored events; what it holds grows with days, with the objects that were touched, and with executions that
nothing has verified.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from projections.foresight.totals import ForesightTotals
from schemas.actions import ActionKind
from schemas.agents import action_label
from schemas.breaker import BreakerState, OutcomeBreaker
from schemas.capacity_score import CapacityScore
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.foresight_score import AheadScore
from schemas.outcome import (
    ExecutionPhase,
    ForecastScore,
    OutcomeExecution,
    OutcomeForecast,
    OutcomeVerification,
)
from schemas.reaction import Reaction, ReactionKind
from schemas.score import OutcomeScore

READS: Final = (
    *("decision", "outcome.execution", "outcome.verification", "outcome.forecast"),
    *("outcome.score", "outcome.breaker", "reaction"),
)
MICRO = 1_000_000


@dataclass
class ActionRow:
    """One kind of action, as agent and kind."""

    decided: int = 0
    carried_out: int = 0
    """Every operation is applied, or would be: in shadow mode the API server accepted its dry run."""
    failed: int = 0
    refused: int = 0
    """A guard rail, or a look at the object, said no before anything was written."""
    verified: int = 0
    worse: int = 0
    """Verifications that found the cluster worse in the way this action can cause."""
    expected_micro: int = 0
    """What the decided actions were expected to gain over their horizons, in millionths of the currency."""
    expecting: int = 0
    """Decided actions that said so."""


@dataclass
class RiskRow:
    """How one model's risk did, over every certain target."""

    targets: int = 0
    failed: int = 0
    brier_sum: float = 0.0
    hits: int = 0
    misses: int = 0
    false_alarms: int = 0
    alarms_known: bool = False
    """Whether a threshold says which risks were alarms."""

    @property
    def brier(self) -> float | None:
        """The mean squared difference of risk and outcome; None without a target."""
        return self.brier_sum / self.targets if self.targets else None

    @property
    def skill(self) -> float | None:
        """1 - Brier / Brier of the best constant (Murphy 1973); None where nothing or everything failed."""
        if not 0 < self.failed < self.targets:
            return None
        share = self.failed / self.targets
        return 1.0 - self.brier_sum / self.targets / (share * (1.0 - share))


@dataclass
class DayRow:
    """One day of cluster time, in UTC."""

    cycles: int = 0
    wanted: int = 0
    """Actions decided that were no noop."""
    carried_out: int = 0
    refused: int = 0
    sources_lost: int = 0
    score_sum: float = 0.0
    scores: int = 0

    @property
    def score_mean(self) -> float | None:
        """The mean of the outcome scores, in the currency an hour; None before any."""
        return self.score_sum / self.scores if self.scores else None


@dataclass
class Activity:
    """The fold; `add` takes events in the order of their log, and logs in any order."""

    first_time: float | None = None
    """Cluster time of the first event that counted, in seconds since the Unix epoch."""
    last_time: float | None = None
    actions: dict[str, ActionRow] = field(default_factory=dict)
    touched: dict[str, Counter[str]] = field(default_factory=dict)
    """By resource: how many writes each object got, or would have."""
    refusals: dict[str, Counter[str]] = field(default_factory=dict)
    """By reason: how often each kind of action was refused for it."""
    examples: dict[str, str] = field(default_factory=dict)
    """By reason: what the newest such refusal said."""
    risks: dict[str, RiskRow] = field(default_factory=dict)
    days: dict[str, DayRow] = field(default_factory=dict)
    modes: Counter[str] = field(default_factory=Counter)
    trips: Counter[str] = field(default_factory=Counter)
    """Breakers that put a kind, or everything, into shadow."""
    currency: str = ""
    capacity: CapacityScore | None = None
    """How the newest log's statements of what replicas bear did so far."""
    foresight: ForesightTotals | None = None
    """What rested on a forecast; None where nothing did, and until it has been read beside this."""
    fitted: dict[str, dict[str, dict[str, str]]] = field(default_factory=dict)
    """By workload and container: the newest requests that its pods were given, or would have been."""
    ahead_micro: int = 0
    """What actions that rested on a forecast were worth against judging without it, in millionths of the currency,"""
    ahead_valued: int = 0
    """and how many of them that is known of."""
    _labels: dict[tuple[str, int], str] = field(default_factory=dict)
    """Of executions not verified yet: their action, by decision and part."""

    def add(self, event: Event[Any]) -> None:
        """Count one stored event."""
        at = datetime.fromisoformat(event.time).timestamp()
        self.first_time = at if self.first_time is None else min(self.first_time, at)
        self.last_time = at if self.last_time is None else max(self.last_time, at)
        day = self.days.setdefault(event.time[:10], DayRow())
        match event.data:
            case Decision() as decision:
                self._decide(decision, day)
            case OutcomeExecution() as execution:
                self._execute(execution, day)
            case OutcomeVerification() as verification:
                self._verify(verification)
            case OutcomeForecast(capacity_so_far=CapacityScore() as capacity):
                self.capacity = capacity
            case OutcomeForecast(action=AheadScore(value=float() as value)):
                self.ahead_micro += round(value * MICRO)
                self.ahead_valued += 1
            case OutcomeForecast(risk=ForecastScore() as risk, model_id=model):
                self._judge(model, risk)
            case OutcomeScore() as score:
                day.scores += 1
                day.score_sum += score.step_money_per_hour
                self.currency = score.currency
            case OutcomeBreaker(state=BreakerState.SHADOW) as breaker:
                self.trips[breaker.unit] += 1
            case Reaction() as reaction:
                lost = ReactionKind.SOURCE_LOST
                day.sources_lost += sum(item.kind is lost for item in reaction.reactions)
            case _:
                pass

    def _decide(self, decision: Decision, day: DayRow) -> None:
        day.cycles += 1
        for part in decision.parts:
            if part.action.kind is ActionKind.NOOP:
                continue
            day.wanted += 1
            row = self._row(action_label(part.action))
            row.decided += 1
            if part.effect is not None:
                self.currency = part.effect.currency
                row.expecting += 1
                row.expected_micro += round(part.effect.net * MICRO)

    def _execute(self, execution: OutcomeExecution, day: DayRow) -> None:
        if execution.rollback_of or execution.phase is ExecutionPhase.STARTED:
            return
        if execution.action.kind is ActionKind.NOOP:
            return
        label = action_label(execution.action)
        row = self._row(label)
        if execution.phase is ExecutionPhase.REFUSED:
            row.refused += 1
            day.refused += 1
            reason = "unknown" if execution.reason is None else str(execution.reason)
            self.refusals.setdefault(reason, Counter())[label] += 1
            self.examples[reason] = execution.text
            return
        self.modes[str(execution.mode)] += 1
        if execution.succeeded:
            row.carried_out += 1
            day.carried_out += 1
        else:
            row.failed += 1
        self._labels[execution.decision_id, execution.part] = label
        for operation in execution.operations:
            name = f"{operation.namespace}/{operation.name}".lstrip("/")
            self.touched.setdefault(operation.resource, Counter())[name] += 1
        if execution.succeeded and execution.action.kind is ActionKind.RESIZE:
            self._fit(execution)

    def _fit(self, execution: OutcomeExecution) -> None:
        containers = self.fitted.setdefault(execution.action.target.name, {})
        for operation in execution.operations:
            for one in json.loads(operation.patch)["spec"]["containers"]:
                requests = one["resources"].get("requests", {})
                containers.setdefault(one["name"], {}).update(requests)

    def _verify(self, verification: OutcomeVerification) -> None:
        label = self._labels.pop((verification.decision_id, verification.part), None)
        if label is None:
            return
        row = self._row(label)
        row.verified += verification.status == "verified"
        row.worse += verification.status == "worse"

    def _judge(self, model: str, risk: ForecastScore) -> None:
        row = self.risks.setdefault(model, RiskRow())
        row.targets += risk.targets
        row.failed += risk.positives
        row.brier_sum += (risk.brier or 0.0) * risk.targets
        if risk.hits is not None:
            row.alarms_known = True
            row.hits += risk.hits
            row.misses += risk.misses or 0
            row.false_alarms += risk.false_alarms or 0

    def _row(self, label: str) -> ActionRow:
        return self.actions.setdefault(label, ActionRow())
