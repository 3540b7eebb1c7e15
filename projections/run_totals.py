"""The totals of a run: the summary printed at its end and stored in `run.complete`."""

from __future__ import annotations

from collections import Counter
from typing import Any

from projections.band_text import bands_text
from projections.breaker.text import standing_texts
from projections.decision_totals import MICRO, DecisionTotals
from projections.promotion.text import driving_texts
from schemas.band_score import BandScore
from schemas.breaker import Breaker, BreakerState, OutcomeBreaker
from schemas.decision import Decision
from schemas.envelope import Event
from schemas.foresight import OutcomeForesight, shadows_text
from schemas.foresight_score import AheadTotals, ahead_totals_text
from schemas.observation import Observation
from schemas.outcome import (
    ExecutionPhase,
    OutcomeExecution,
    OutcomeForecast,
    OutcomeVerification,
)
from schemas.promotion import OutcomeModels
from schemas.proposal import Proposal
from schemas.reaction import Reaction
from schemas.reasons import Reason
from schemas.registry import LAYERS
from schemas.score import OutcomeCounterfactual, OutcomeScore, difference_text, score_text
from schemas.stimulus import Stimulus
from schemas.subjects import parse
from schemas.switchback import OutcomeSwitchback, switchback_text
from schemas.wording import count_text

STEPS = ("prediction", "proposal", "decision", "execution")
"""Layers whose latency is measured, each from the moment the cycle's observation was stored."""
KEPT_LATENCIES = 100_000


class RunTotals:
    """Counts a run's events; memory is bounded, whatever the run's length."""

    def __init__(self) -> None:
        """Start at nothing."""
        self.cycles = 0
        self.events: Counter[str] = Counter()
        self.decided = DecisionTotals()
        self.rules: Counter[str] = Counter()
        self.closed_by: Counter[str] = Counter()
        self.executions: Counter[str] = Counter()
        self.verifications: Counter[str] = Counter()
        self.proposals: Counter[str] = Counter()
        self.reactions: Counter[str] = Counter()
        self.stimuli: Counter[str] = Counter()
        self.missing: Counter[str] = Counter()
        self.briers = 0
        self.bands: dict[tuple[str, float], BandScore] = {}
        """Bands of demand so far, by model and horizon in seconds."""
        """Forecasts of the active models whose Brier score is known."""
        self.foresight: dict[str, AheadTotals] = {}
        """What came of actions that rested on a forecast, by model."""
        self.left_out: tuple[str, ...] = ()
        """Models of demand that are back in shadow."""
        self.score: OutcomeScore | None = None
        """The newest outcome score."""
        self.counterfactual: OutcomeCounterfactual | None = None
        """The newest of what acting changed."""
        self.switchback: OutcomeSwitchback | None = None
        """The newest estimate from blocks that act and blocks that do not."""
        self.models: OutcomeModels | None = None
        """The newest judgement of risk models."""
        self.breaker_trips = 0
        self.standing: tuple[Breaker, ...] = ()
        """Breakers that are not closed."""
        self._brier_micro = 0
        self._latencies: dict[str, list[float]] = {step: [] for step in STEPS}
        self._observed: dict[int, int] = {}
        self._decided: dict[int, frozenset[str]] = {}

    def count(self, layer: str) -> None:
        """Count an event of a layer of which the totals need no more."""
        self.events[layer] += 1

    def add(self, event: Event[Any]) -> None:
        """Count one stored event."""
        layer = parse(event.subject).layer
        self.count(layer)
        self.decided.add(event.data)
        match event.data:
            case Observation():
                self._observe(event)
            case Proposal():
                self._propose(event)
            case Decision() as decision:
                self._decide(event, decision)
            case OutcomeExecution() as execution:
                self._execute(event, execution)
            case Reaction() as reaction:
                self.reactions.update(item.kind.value for item in reaction.reactions)
            case Stimulus() as stimulus:
                self.stimuli[stimulus.status] += 1
            case _ if layer == "prediction":
                self._time("prediction", event)
            case _:
                self._score(event)

    def summary(self) -> dict[str, Any]:
        """Return the summary as JSON values; latencies in milliseconds of recorded time."""
        return {
            "cycles": self.cycles,
            "events": {layer: self.events[layer] for layer in LAYERS}
            | {layer: count for layer, count in sorted(self.events.items()) if layer not in LAYERS},
            "events_total": self.events.total(),
            "decisions": dict(sorted(self.decided.actions.items())),
            "wins": dict(sorted(self.decided.wins.items())),
            "rules": dict(sorted(self.rules.items())),
            "closed_by": dict(sorted(self.closed_by.items())),
            "missing": dict(sorted(self.missing.items())),
            "proposals": dict(sorted(self.proposals.items())),
            "executions": dict(sorted(self.executions.items())),
            "verifications": dict(sorted(self.verifications.items())),
            "latency_ms": {
                step: _quantiles(values) for step, values in self._latencies.items() if values
            },
            "score_money_per_hour": None if self.score is None else self.score.total_money_per_hour,
            "score_text": "" if self.score is None else score_text(self.score),
            "acting_changed_money": (
                None if self.counterfactual is None else self.counterfactual.total_money
            ),
            "acting_changed_text": (
                "" if self.counterfactual is None else difference_text(self.counterfactual)
            ),
            "reward_mean": self.decided.reward_mean,
            "rewards_scored": self.decided.rewarded,
            "risk_brier_mean": (
                round(self._brier_micro / self.briers / MICRO, 6) if self.briers else None
            ),
            "reactions": dict(sorted(self.reactions.items())),
            "stimuli": dict(sorted(self.stimuli.items())),
            **self._switchback(),
            **self._breakers(),
            **(
                {}
                if self.models is None
                else {"models_text": "\n".join(driving_texts(self.models))}
            ),
            **({"bands_text": bands_text(self.bands)} if self.bands else {}),
            **({"foresight_text": self._foresight_text()} if self.foresight else {}),
        }

    def _foresight_text(self) -> str:
        sums = self.foresight
        texts = [ahead_totals_text(model, sums[model]) for model in sorted(sums)]
        return "\n".join(
            [*texts, *([shadows_text(self.left_out, self.left_out)] if self.left_out else [])]
        )

    def _switchback(self) -> dict[str, Any]:
        """Return the estimate where there is one; a run without a switchback says nothing of it."""
        estimate = self.switchback
        if estimate is None:
            return {}
        return {
            "acting_money_per_hour": estimate.effect_money_per_hour,
            "acting_text": switchback_text(estimate),
        }

    def _breakers(self) -> dict[str, Any]:
        """Return how often breakers tripped and how they stand; nothing of a run in which none did."""
        if not self.breaker_trips:
            return {}
        standing = "; ".join(standing_texts(self.standing)) or "all closed again"
        times = count_text(self.breaker_trips, "trip")
        return {"breaker_trips": self.breaker_trips, "breakers_text": f"{times}; {standing}"}

    def _score(self, event: Event[Any]) -> None:
        match event.data:
            case OutcomeVerification() as verification:
                self.verifications[verification.status] += 1
            case OutcomeScore() as score:
                self.score = score
            case OutcomeCounterfactual() as difference:
                self.counterfactual = difference
            case OutcomeSwitchback() as estimate:
                self.switchback = estimate
            case OutcomeBreaker() as change:
                self.breaker_trips += change.state is BreakerState.SHADOW
                self.standing = change.standing
            case OutcomeModels() as judged:
                self.models = judged
            case OutcomeForesight() as judged_demand:
                self.left_out = judged_demand.shadows
            case OutcomeForecast(slot=0) as forecast:
                if forecast.bands_so_far is not None:
                    self.bands[forecast.model_id, forecast.horizon_seconds] = forecast.bands_so_far
                if forecast.actions_so_far is not None:
                    self.foresight[forecast.model_id] = forecast.actions_so_far
                if forecast.risk is not None and forecast.risk.brier is not None:
                    self.briers += 1
                    self._brier_micro += round(forecast.risk.brier * MICRO)

    def _observe(self, event: Event[Any]) -> None:
        self.cycles += 1
        self._observed[event.cycle] = event.recorded_ns
        for old in [cycle for cycle in self._observed if cycle < event.cycle - 100]:
            del self._observed[old]
            self._decided.pop(old, None)

    def _propose(self, event: Event[Any]) -> None:
        self._time("proposal", event)
        if event.cycle in self._decided:
            self.proposals["late"] += 1

    def _decide(self, event: Event[Any], decision: Decision) -> None:
        self._time("decision", event)
        self._decided[event.cycle] = frozenset(proposal.id for proposal in decision.considered)
        self.rules[decision.rule] += 1
        self.closed_by[decision.closed_by] += 1
        self.missing.update(decision.missing)
        self.proposals["selected"] += len(decision.winners)
        self.proposals["overridden"] += len(decision.overridden)

    def _execute(self, event: Event[Any], execution: OutcomeExecution) -> None:
        if execution.phase is ExecutionPhase.STARTED:
            return
        if execution.reason is Reason.NOOP:
            self.executions["nothing to do"] += 1
            return
        if execution.phase is ExecutionPhase.REFUSED:
            self.executions[f"refused: {execution.reason}"] += 1
            return
        self.executions["succeeded" if execution.succeeded else "failed"] += 1
        self._time("execution", event)

    def _time(self, step: str, event: Event[Any]) -> None:
        observed = self._observed.get(event.cycle)
        values = self._latencies[step]
        if observed is not None and len(values) < KEPT_LATENCIES:
            values.append((event.recorded_ns - observed) / 1e6)


def _quantiles(values: list[float]) -> dict[str, float]:
    ordered = sorted(values)
    last = len(ordered) - 1
    shares = {"p50": 0.5, "p99": 0.99, "max": 1.0}
    return {name: round(ordered[round(last * share)], 2) for name, share in shares.items()}
