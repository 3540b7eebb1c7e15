"""The fold over a log: Services' courses in both worlds, what was foreseen of them, and what was done about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from projections.foresight.action import AheadAction, reach_of, rise_level
from projections.foresight.course import Course, Replicas
from projections.foresight.foreseen import Foreseen, foreseen_in
from projections.foresight.rise import ForeseenRise, RiseOutcome, outcome_of
from projections.score.tally import Slo
from schemas.actions import Action, ReplicateAction
from schemas.capacity import PredictionCapacity
from schemas.decision import Decision, DecisionPart
from schemas.envelope import Event
from schemas.observation import Observation, ObservedState
from schemas.outcome import ExecutionPhase, OutcomeExecution
from schemas.prediction import PredictionDemand
from schemas.proposal import ForecastGround, Proposal
from schemas.score import OutcomeScore
from schemas.untouched import UntouchedObservation

READS: Final = (
    *("observation", "untouched.observation", "prediction.demand", "prediction.capacity"),
    *("proposal.*", "decision", "outcome.execution", "outcome.score"),
)
SERIES = "service/"
KEPT_SECONDS = 7_200.0
"""Forecasts that are kept: long enough that the first of a rise is among them."""
KEPT_SETTLED = 10_000
SETTLED_LOOKS = 2.0
"""Looks after which the untouched world, which may be one behind, has been seen, too."""
USUAL_SLO = Slo(latency_seconds=0.5, bad_ratio=0.01)
"""Until inference states the objective."""
HOUR_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class Settled:
    """A foreseen rise with its outcome, as far as the log goes."""

    rise: ForeseenRise
    outcome: RiseOutcome


@dataclass(frozen=True, slots=True)
class ForesightLog:
    """What a log says of foresight, up to one event."""

    here: Mapping[str, Course] = field(default_factory=dict)
    """By Service."""
    there: Mapping[str, Course] = field(default_factory=dict)
    foreseen: Mapping[str, tuple[Foreseen, ...]] = field(default_factory=dict)
    """By Service, oldest first."""
    open: tuple[ForeseenRise, ...] = ()
    """Those whose time is not over."""
    settled: tuple[Settled, ...] = ()
    replicas: Mapping[str, Replicas] = field(default_factory=dict)
    """By workload."""
    grounds: Mapping[tuple[str, str], ForecastGround] = field(default_factory=dict)
    """Of the newest cycle's proposals, by proposal and target."""
    prices: Mapping[str, float] = field(default_factory=dict)
    slo: Slo = USUAL_SLO
    bears: Mapping[str, float] = field(default_factory=dict)
    """Requests a second that one replica bears, by workload, as it was stated last."""
    kept: int = KEPT_SETTLED
    """Settled rises that are kept, the newest ones."""
    seen_seconds: float = 0.0
    """Cluster time of the newest observation,"""
    seen_cycle: int = -1
    """and its cycle."""

    def after(self, event: Event[Any]) -> ForesightLog:
        """Return the log after one more event; the same one where it says nothing of foresight."""
        match event.data:
            case Observation() as data:
                return self._after_look(data)
            case UntouchedObservation() as data:
                return replace(self, there=self._courses(self.there, data))
            case PredictionDemand(bands=bands) if bands:
                return self._after_bands(event)
            case PredictionCapacity() as data:
                slo = Slo(latency_seconds=data.latency_seconds, bad_ratio=data.bad_ratio)
                table = data.workloads
                bears = dict(zip(table.ids, table.replica_rate, strict=True))
                return replace(self, slo=slo, bears=bears)
            case Proposal() as data:
                return self._after_proposal(data, event.id)
            case Decision() if self.grounds:
                return self._after_decision(event)
            case OutcomeExecution() as data:
                return self._after_execution(data)
            case OutcomeScore() as data if data.components:
                prices = {one.name: one.price for one in data.components}
                return self if prices == self.prices else replace(self, prices=prices)
            case _:
                return self

    def outcomes(self) -> Iterator[Settled]:
        """Yield every foreseen rise, those whose time is not over last."""
        yield from self.settled
        for rise in self.open:
            yield Settled(rise, self.outcome_of(rise))

    def _after_look(self, data: Observation) -> ForesightLog:
        replicas = dict(_replicas(data))
        at = data.cluster_time_seconds
        ready = _each(self.open, lambda one: _with_ready(one, replicas.get(one.workload), at))
        here = self._courses(self.here, data)
        latest = at - SETTLED_LOOKS * data.interval_seconds
        seen = replace(
            self,
            here=here,
            replicas=replicas,
            open=tuple(rise for rise in ready if rise.over_seconds >= latest),
            seen_seconds=at,
            seen_cycle=data.cycle,
        )
        over = (rise for rise in ready if rise.over_seconds < latest)
        done = tuple(Settled(rise, seen.outcome_of(rise)) for rise in over)
        return replace(seen, settled=(*self.settled, *done)[-self.kept :]) if done else seen

    def _courses(self, courses: Mapping[str, Course], data: ObservedState) -> Mapping[str, Course]:
        counters = () if data.work is None else data.work.services or ()
        replicas = dict(_replicas(data))
        at = data.cluster_time_seconds
        none = Replicas(0, 0)
        return {
            **courses,
            **{
                one.service: courses.get(one.service, Course(at, one)).after(
                    at, one, replicas.get(one.workload, none), self.slo
                )
                for one in counters
            },
        }

    def _after_bands(self, event: Event[Any]) -> ForesightLog:
        oldest = event.data.cluster_time_seconds - KEPT_SECONDS
        foreseen = dict(self.foreseen)
        for series, new in foreseen_in(event):
            if series.startswith(SERIES):
                name = series.removeprefix(SERIES)
                kept = (one for one in foreseen.get(name, ()) if one.made_seconds >= oldest)
                foreseen[name] = (*kept, new)
        return replace(self, foreseen=foreseen)

    def _after_proposal(self, data: Proposal, proposal_id: str) -> ForesightLog:
        new = {
            (proposal_id, action.target.name): ground
            for action, ground in _wishes(data)
            if ground is not None
        }
        return replace(self, grounds={**self.grounds, **new}) if new else self

    def _after_decision(self, event: Event[Decision]) -> ForesightLog:
        opened = [
            self._opened(event, number, part, ground)
            for number, part in enumerate(event.data.parts)
            if (ground := self.grounds.get((part.selected or "", part.action.target.name)))
            and ground.series.removeprefix(SERIES) in self.here
        ]
        rises = self.open
        for action in opened:
            rises = _with_action(rises, action)
        return replace(self, open=rises, grounds={})

    def _opened(
        self, event: Event[Decision], number: int, part: DecisionPart, ground: ForecastGround
    ) -> AheadAction:
        service, workload = ground.series.removeprefix(SERIES), part.action.target.name
        before = self.replicas.get(workload, Replicas(0, 0)).wanted
        asked = part.action.replicas if isinstance(part.action, ReplicateAction) else None
        after = before if asked is None else asked
        known = self.foreseen.get(service, ())
        of_ids = [one for one in known if one.prediction_id in ground.prediction_ids]
        foreseen = of_ids[-1] if of_ids else None
        decided = event.data.cluster_time_seconds
        held = 0.0 if part.effect is None else part.effect.horizon_seconds
        reach = reach_of(ground, foreseen, decided, held)
        level = rise_level(ground, before, foreseen, reach)
        return AheadAction(
            seq=event.seq,
            cycle=event.cycle,
            part=number,
            service=service,
            workload=workload,
            ground=ground,
            replicas_before=before,
            replicas_after=after,
            decided_seconds=decided,
            held_seconds=held,
            foreseen=foreseen,
            level=level,
            spoke=_first_to_say(known, foreseen, level),
            capacity_hourly=_capacity_hourly(part, after - before),
            currency="" if part.effect is None else part.effect.currency,
        )

    def _after_execution(self, data: OutcomeExecution) -> ForesightLog:
        if data.phase is not ExecutionPhase.FINISHED or not data.succeeded or not self.open:
            return self
        return replace(self, open=_each(self.open, lambda one: _with_execution(one, data)))

    def outcome_of(self, rise: ForeseenRise) -> RiseOutcome:
        """Return what came of a rise so far."""
        here, there = self.here[rise.service], self.there.get(rise.service)
        return outcome_of(rise, here, there, self.prices, self.slo.bad_ratio)


def _each(
    rises: Iterable[ForeseenRise], change: Callable[[AheadAction], AheadAction]
) -> tuple[ForeseenRise, ...]:
    """Return the rises with each of their actions changed."""
    return tuple(ForeseenRise(tuple(map(change, rise.actions))) for rise in rises)


def _with_action(rises: tuple[ForeseenRise, ...], action: AheadAction) -> tuple[ForeseenRise, ...]:
    """Return the rises with one more action: on the newest that it answers, else on a new one."""
    for place in reversed(range(len(rises))):
        if rises[place].takes(action):
            joined = ForeseenRise((*rises[place].actions, action))
            return (*rises[:place], joined, *rises[place + 1 :])
    return (*rises, ForeseenRise((action,)))


def rests_on_forecast(data: Proposal) -> bool:
    """Say whether anything that a proposal wants rests on a forecast."""
    return any(ground is not None for _, ground in _wishes(data))


def _wishes(data: Proposal) -> Iterator[tuple[Action, ForecastGround | None]]:
    yield data.action, data.forecast
    for one in data.further:
        yield one.action, one.forecast


def _replicas(data: ObservedState) -> Iterator[tuple[str, Replicas]]:
    table = data.services
    if table is not None:
        for workload, ready, wanted in zip(table.workload, table.ready, table.wanted, strict=True):
            yield workload, Replicas(ready, wanted)


def _with_ready(action: AheadAction, replicas: Replicas | None, at: float) -> AheadAction:
    if action.executed_seconds is None or action.ready_seconds is not None or replicas is None:
        return action
    return replace(action, ready_seconds=at) if replicas.ready >= action.replicas_after else action


def _with_execution(action: AheadAction, data: OutcomeExecution) -> AheadAction:
    """Return an action after an execution that may be its own."""
    if (data.cycle, data.part) != (action.cycle, action.part) or data.rollback_of:
        return action
    return replace(action, executed_seconds=data.cluster_time_seconds, mode=data.mode)


def _first_to_say(
    known: Sequence[Foreseen], newest: Foreseen | None, level: float
) -> Foreseen | None:
    """Return the first of the forecasts, without a break up to the newest, whose middle passes the level."""
    first = newest
    for one in reversed(known):
        if newest is not None and one.made_seconds < newest.made_seconds:
            if one.highest_middle <= level:
                break
            first = one
    return first


def _capacity_hourly(part: DecisionPart, pods: int) -> float:
    """Return what one further replica was taken to cost an hour; 0 where nobody said it."""
    effect = part.effect
    if effect is None or pods <= 0:
        return 0.0
    return -effect.terms.get("capacity", 0.0) / pods * HOUR_SECONDS / effect.horizon_seconds
