"""Everything that the log holds about one cycle: what was seen, predicted, proposed, decided and done,
and what came of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from schemas.actions import Action
from schemas.breaker import OutcomeBreaker
from schemas.capacity import PredictionCapacity
from schemas.decision import Decision, is_noop
from schemas.effect import Effect
from schemas.envelope import Event
from schemas.learned import LearnedChoice, OutcomeLearned
from schemas.model import EventData
from schemas.observation import Observation
from schemas.outcome import (
    ExecutionPhase,
    OutcomeExecution,
    OutcomeForecast,
    OutcomeReward,
    OutcomeVerification,
)
from schemas.prediction import Prediction
from schemas.promotion import OutcomeModels
from schemas.proposal import Proposal
from schemas.reasons import Reason
from schemas.score import OutcomeCounterfactual, OutcomeScore

CYCLE_SUBJECTS = ("observation", "prediction.>", "proposal.*", "learned.*", "decision", "outcome.*")
"""Subjects of the events that a record holds."""
TABLES = ("nodes", "pods", "frame", "risk_table", "demand_table")
"""Fields that hold whole tables; `as_json` leaves them to `tap --json`."""

ONE_A_CYCLE: Mapping[type[EventData], str] = {
    Observation: "observation",
    Decision: "decision",
    OutcomeReward: "reward",
    OutcomeScore: "score",
}
"""Field of a record by the kind of event, of which a cycle has one; a later one replaces it."""
SEVERAL_A_CYCLE: Mapping[type[EventData], str] = {
    Prediction: "predictions",
    Proposal: "proposals",
    LearnedChoice: "learned",
    OutcomeLearned: "learned_scores",
    OutcomeExecution: "executions",
    OutcomeVerification: "verifications",
    OutcomeForecast: "forecasts",
    OutcomeCounterfactual: "counterfactuals",
    OutcomeBreaker: "breakers",
}
"""Of which it has several, in the order of the log."""


@dataclass(frozen=True, slots=True)
class PartRecord:
    """Outcome of one part of a decision."""

    number: int
    """From 0."""
    action: Action | None
    """None where the decision is not known."""
    effect: Effect | None
    """What the action was expected to change; None where it was judged by thresholds."""
    executions: tuple[OutcomeExecution, ...]
    """Every phase."""
    rollbacks: tuple[OutcomeExecution, ...]
    verifications: tuple[OutcomeVerification, ...]

    @property
    def execution(self) -> OutcomeExecution | None:
        """The newest phase of what was executed."""
        return self.executions[-1] if self.executions else None

    @property
    def rollback(self) -> OutcomeExecution | None:
        """The newest phase of taking it back."""
        return self.rollbacks[-1] if self.rollbacks else None

    @property
    def verification(self) -> OutcomeVerification | None:
        """The newest verification."""
        return self.verifications[-1] if self.verifications else None

    @property
    def executed(self) -> bool:
        """Whether the execution has finished or was refused."""
        return self.execution is not None and self.execution.phase is not ExecutionPhase.STARTED

    @property
    def result(self) -> str:
        """Outcome of it, in a word; empty while it is open."""
        if self.rollback is not None:
            return "rolled_back"
        if self.verification is not None:
            return str(self.verification.status)
        if self.execution is None:
            return ""
        if self.execution.reason is Reason.NOOP:
            return "nothing_to_do"
        if self.execution.phase is ExecutionPhase.FINISHED:
            return "executed" if self.execution.succeeded else "execution_failed"
        return str(self.execution.phase)


@dataclass(frozen=True, slots=True)
class CycleRecord:
    """The events of one cycle, by what they are, each kind in the order of the log."""

    cycle: int
    observation: Event[Observation] | None = None
    predictions: tuple[Event[Prediction], ...] = ()
    """Risk and demand first, then those of shadow models."""
    proposals: tuple[Event[Proposal], ...] = ()
    learned: tuple[Event[LearnedChoice], ...] = ()
    """What learned policies chose."""
    learned_scores: tuple[Event[OutcomeLearned], ...] = ()
    decision: Event[Decision] | None = None
    executions: tuple[Event[OutcomeExecution], ...] = ()
    """Every phase of the execution, and of its rollback."""
    verifications: tuple[Event[OutcomeVerification], ...] = ()
    reward: Event[OutcomeReward] | None = None
    forecasts: tuple[Event[OutcomeForecast], ...] = ()
    score: Event[OutcomeScore] | None = None
    """Of the time up to this cycle's observation."""
    counterfactuals: tuple[Event[OutcomeCounterfactual], ...] = ()
    """What acting had changed up to this cycle, and up to some cycles after it."""
    breakers: tuple[Event[OutcomeBreaker], ...] = ()
    """Breakers that changed at this cycle's observation."""
    judged: Event[OutcomeModels] | None = None
    """The judgement of risk models at this cycle's observation."""
    driven_by: Event[OutcomeModels] | None = None
    """The newest judgement before this cycle's observation, by which its risk was predicted; only where one has read
    so far back.
    """
    capacity: Event[PredictionCapacity] | None = None
    """The newest statement of what replicas bear up to this cycle; only where one has read so far back."""
    unreadable: tuple[int, ...] = ()
    """Positions of messages of the cycle that this version cannot read."""

    def after(self, event: Event[Any]) -> CycleRecord:
        """Return the record after one more event of its cycle; of other kinds, the same record."""
        changes: dict[str, Any] = {}
        if isinstance(event.data, OutcomeModels):
            changes["judged" if event.cycle == self.cycle else "driven_by"] = event
        if isinstance(event.data, PredictionCapacity):
            changes["capacity"] = event
        for kind, name in ONE_A_CYCLE.items():
            if isinstance(event.data, kind):
                changes[name] = event
        for kind, name in SEVERAL_A_CYCLE.items():
            if isinstance(event.data, kind):
                changes[name] = (*getattr(self, name), event)
        return replace(self, **changes) if changes else self

    def after_unreadable(self, seq: int) -> CycleRecord:
        """Return the record after a message of its cycle that this version cannot read."""
        return replace(self, unreadable=(*self.unreadable, seq))

    @property
    def actions(self) -> Mapping[str, Action]:
        """Proposed actions by the proposal's id; a decision lists no parameters."""
        return {event.id: event.data.action for event in self.proposals}

    @property
    def late(self) -> tuple[Event[Proposal], ...]:
        """Proposals that the decision did not consider although it stands."""
        if self.decision is None:
            return ()
        considered = {proposal.id for proposal in self.decision.data.considered}
        return tuple(proposal for proposal in self.proposals if proposal.id not in considered)

    @property
    def parts(self) -> tuple[PartRecord, ...]:
        """Outcome of each part of the decision, in order; never empty."""
        decided = 1 if self.decision is None else len(self.decision.data.parts)
        executed = max((event.data.part + 1 for event in self.executions), default=1)
        return tuple(map(self._part, range(max(decided, executed))))

    def _part(self, number: int) -> PartRecord:
        executions = [event.data for event in self.executions if event.data.part == number]
        decided = () if self.decision is None else self.decision.data.parts
        part = decided[number] if number < len(decided) else None
        return PartRecord(
            number=number,
            action=None if part is None else part.action,
            effect=None if part is None else part.effect,
            executions=tuple(one for one in executions if not one.rollback_of),
            rollbacks=tuple(one for one in executions if one.rollback_of),
            verifications=tuple(
                event.data for event in self.verifications if event.data.part == number
            ),
        )

    @property
    def executed(self) -> bool:
        """Whether every part's execution has finished or was refused."""
        return all(part.executed for part in self.parts)

    @property
    def acts(self) -> bool:
        """Whether its decision is known, and to do something."""
        return self.decision is not None and not is_noop(self.decision.data)

    @property
    def settled_cycle(self) -> int:
        """The cycle by which the decision's effect has been judged: the later one of reward and
        verification; the next one while there is neither.
        """
        judged = [None if self.reward is None else self.reward.data.observed_cycle]
        judged += [event.data.observed_cycle for event in self.verifications]
        return max((cycle for cycle in judged if cycle is not None), default=self.cycle + 1)

    @property
    def result(self) -> str:
        """Outcomes of the decision's parts, each word once, in their order; empty while all are open."""
        return ", ".join(dict.fromkeys(part.result for part in self.parts if part.result))

    @property
    def events(self) -> list[Event[Any]]:
        """Every event, in the order of the log."""
        return sorted(self._unordered_events(), key=lambda event: event.seq)

    def _unordered_events(self) -> Iterator[Event[Any]]:
        for single in (self.observation, self.decision, self.reward, self.score, self.judged):
            if single is not None:
                yield single
        if self.capacity is not None and self.capacity.cycle == self.cycle:
            yield self.capacity
        yield from self.predictions
        yield from self.proposals
        yield from self.learned
        yield from self.executions
        yield from self.verifications
        yield from self.forecasts
        yield from self.learned_scores
        yield from self.breakers
        yield from (event for event in self.counterfactuals if event.cycle == self.cycle)

    def as_json(self) -> dict[str, Any]:
        """Return everything as JSON values; tables are left out."""
        return {
            "cycle": self.cycle,
            "decision": _event_json(self.decision),
            "observation": _event_json(self.observation),
            "predictions": [_event_json(event) for event in self.predictions],
            "proposals": [_event_json(event) for event in self.proposals],
            "learned": [_event_json(event) for event in self.learned],
            "learned_scores": [_event_json(event) for event in self.learned_scores],
            "late": [event.id for event in self.late],
            "executions": [_event_json(event) for event in self.executions],
            "verifications": [_event_json(event) for event in self.verifications],
            "reward": _event_json(self.reward),
            "score": _event_json(self.score),
            "counterfactuals": [_event_json(event) for event in self.counterfactuals],
            "forecasts": [_event_json(event) for event in self.forecasts],
            "breakers": [_event_json(event) for event in self.breakers],
            "judged": _event_json(self.judged),
            "driven_by": _event_json(self.driven_by),
            "capacity": _event_json(self.capacity),
            "unreadable": list(self.unreadable),
        }


@dataclass(frozen=True, slots=True)
class CycleRecords:
    """Records of the newest cycles."""

    limit: int = 300
    """Cycles that are kept, the newest,"""
    acting: int = 0
    """and of older ones so many, the newest, that decided to do something."""
    by_cycle: Mapping[int, CycleRecord] = field(default_factory=dict)
    """In the order in which they began."""

    def after(self, event: Event[Any]) -> CycleRecords:
        """Return the records after an event, without cycles beyond the limits."""
        cycle = event.cycle
        record = self.by_cycle.get(cycle, CycleRecord(cycle)).after(event)
        by_cycle = {**self.by_cycle, cycle: record}
        if len(by_cycle) > self.limit:
            older = sorted(by_cycle, reverse=True)[self.limit :]
            kept = [one for one in older if by_cycle[one].acts][: self.acting]
            for dropped in set(older).difference(kept):
                del by_cycle[dropped]
        return replace(self, by_cycle=by_cycle)

    @property
    def newest_decided(self) -> CycleRecord | None:
        """The newest cycle that has its decision."""
        newest = reversed(tuple(self.by_cycle.values()))
        return next((record for record in newest if record.decision is not None), None)

    @property
    def newest_executed(self) -> int:
        """The newest cycle whose execution has finished or was refused; -1 before the first."""
        return max(
            (cycle for cycle, record in self.by_cycle.items() if record.executed), default=-1
        )


def _event_json(event: Event[Any] | None) -> Any:
    if event is None:
        return None
    content = event.data.model_dump(mode="json")
    for table in TABLES:
        content.pop(table, None)
    return {
        "id": event.id,
        "type": event.type,
        "seq": event.seq,
        "time": event.time,
        "data": content,
    }
