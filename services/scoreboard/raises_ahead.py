"""Raises of replicas that rest on a forecast: which were executed, what came of each, and the sums by model."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping
from typing import Any

from projections.foresight.action import reach_of, rise_level
from projections.foresight.course import Course, Minute, Replicas
from projections.foresight.foreseen import Foreseen, foreseen_in
from projections.score.money import slo_of
from projections.score.prices import ScorePrices
from projections.score.tally import Slo
from schemas.actions import Action, ReplicateAction
from schemas.envelope import Event
from schemas.foresight_score import AheadScore, AheadTotals
from schemas.model import DataModel
from schemas.numbers import Count, Cycle, Rounded, Seconds, rounded
from schemas.outcome import ExecutionPhase, Mode, OutcomeExecution, OutcomeForecast
from schemas.proposal import ForecastGround, Proposal
from schemas.view import ObservationView
from services.scoreboard.raise_ahead import SEEN_LOOKS, RaiseAhead
from services.scoreboard.unpublished import UnpublishedOutcome

SERIES = "service/"
KEPT_CYCLES = 3
"""Cycles whose wishes are kept: a decision is executed within two."""
KEPT_MINUTES = 2
KEPT_LEADS = 101
MOST_OPEN = 100
"""Raises followed at once; of more the oldest are given up."""
HELD_LOOKS, HELD_SECONDS = 2.5, 60.0
"""Between two looks that are further apart, in cycles and in cluster seconds, nobody saw what came."""
GIB = 2.0**30
USUAL_SLO = Slo(latency_seconds=0.5, bad_ratio=0.01)
"""Where nothing is priced."""


class AheadWish(DataModel):
    """A raise that an agent wants because of a forecast."""

    cycle: Cycle
    workload: str
    replicas: Count
    ground: ForecastGround
    ends_seconds: Seconds
    """End of the time that its effect is expected in."""
    level: Rounded
    due_seconds: Seconds
    replicas_before: Count
    replica_hour: Rounded | None


class ModelRaises(DataModel):
    """Sums over the raises of one model that are over."""

    model_id: str
    actions: Count = 0
    right: Count = 0
    in_time: Count = 0
    unseen: Count = 0
    leads: tuple[Rounded, ...] = ()
    value: Rounded = 0.0

    def plus(self, score: AheadScore) -> ModelRaises:
        """Return the sums with one more raise."""
        if score.right is None:
            return self.model_copy(update={"unseen": self.unseen + 1})
        lead = score.lead_seconds
        leads = self.leads if lead is None else (*self.leads, lead)[-KEPT_LEADS:]
        return self.model_copy(
            update={
                "actions": self.actions + 1,
                "right": self.right + score.right,
                "in_time": self.in_time + (lead is not None and lead >= 0.0),
                "leads": leads,
                "value": rounded(self.value + (score.value or 0.0)),
            }
        )

    def totals(self, currency: str) -> AheadTotals:
        """Return the sums as they are published."""
        return AheadTotals(
            actions=self.actions,
            right=self.right,
            in_time=self.in_time,
            unseen=self.unseen,
            median_lead_seconds=rounded(statistics.median(self.leads)) if self.leads else None,
            value=self.value,
            currency=currency,
        )


class RaisesAhead(DataModel):
    """What is followed; empty where nobody acts on a forecast."""

    said: dict[str, Foreseen] = {}
    """By series of a Service the newest bands."""
    wishes: tuple[AheadWish, ...] = ()
    courses: dict[str, Course] = {}
    """By Service with an open raise its newest minutes."""
    open: tuple[RaiseAhead, ...] = ()
    """Oldest first."""
    models: tuple[ModelRaises, ...] = ()
    """By name."""

    def with_bands(self, event: Event[Any]) -> RaisesAhead:
        """Return this with newer bands."""
        said = dict(foreseen_in(event))
        return self.model_copy(
            update={"said": {name: one for name, one in said.items() if name.startswith(SERIES)}}
        )

    def with_proposal(
        self, data: Proposal, view: ObservationView | None, prices: ScorePrices | None
    ) -> RaisesAhead:
        """Return this with the raises that a proposal wants because of a forecast."""
        new = [
            self._wish(data, action, horizon, ground, view, prices)
            for action, horizon, ground in _wishes(data)
            if isinstance(action, ReplicateAction) and action.replicas is not None
        ]
        if not new:
            return self
        kept = (one for one in self.wishes if one.cycle > data.cycle - KEPT_CYCLES)
        return self.model_copy(update={"wishes": (*kept, *new)})

    def _wish(
        self,
        data: Proposal,
        action: ReplicateAction,
        horizon_seconds: float,
        ground: ForecastGround,
        view: ObservationView | None,
        prices: ScorePrices | None,
    ) -> AheadWish:
        before, hourly = _replicas_and_price(view, action.target.name, prices)
        said = self.said.get(ground.series)
        foreseen = (
            said if said is not None and said.prediction_id in ground.prediction_ids else None
        )
        decided = data.cluster_time_seconds
        reach = reach_of(ground, foreseen, decided, horizon_seconds)
        assert action.replicas is not None
        return AheadWish(
            cycle=data.cycle,
            workload=action.target.name,
            replicas=action.replicas,
            ground=ground,
            ends_seconds=decided + horizon_seconds,
            level=rise_level(ground, before, foreseen, reach),
            due_seconds=reach[-1].end_seconds,
            replicas_before=before,
            replica_hour=hourly,
        )

    def with_execution(
        self, event: Event[Any], view: ObservationView | None, prices: ScorePrices | None
    ) -> RaisesAhead:
        """Return this after an execution; one that carried out a wish is followed from now on."""
        data: OutcomeExecution = event.data
        done = data.phase is ExecutionPhase.FINISHED and data.succeeded and not data.rollback_of
        if not done or data.mode is not Mode.ACTIVE or view is None:
            return self
        wish = next((one for one in self.wishes if _is_wish(one, data)), None)
        if wish is None:
            return self
        service = wish.ground.series.removeprefix(SERIES)
        course = self.courses.get(service) or _course(service, view)
        if course is None:
            return self
        ground = wish.ground
        raised = RaiseAhead(
            cycle=data.cycle,
            part=data.part,
            causes=(*ground.prediction_ids, event.id),
            service=service,
            workload=wish.workload,
            ground=ground,
            replicas_before=wish.replicas_before,
            replicas_after=wish.replicas,
            level=wish.level,
            due_seconds=wish.due_seconds,
            until_seconds=max(wish.due_seconds, wish.ends_seconds),
            executed_seconds=data.cluster_time_seconds,
            reaction_seconds=ground.lead_seconds + SEEN_LOOKS * view.interval_seconds,
            slo_service_minute=None if prices is None else prices.slo_service_minute,
            replica_hour=wish.replica_hour,
            currency="" if prices is None else prices.currency,
            seen_until_seconds=view.cluster_time_seconds,
        )
        return self.model_copy(
            update={
                "open": (*self.open, raised)[-MOST_OPEN:],
                "courses": {**self.courses, service: course},
            }
        )

    def with_view(
        self, view: ObservationView, prices: ScorePrices | None
    ) -> tuple[RaisesAhead, tuple[tuple[RaiseAhead, AheadScore], ...]]:
        """Return this after an observation, and the raises that are over with it, with what came of each."""
        if not self.open:
            return self, ()
        slo = USUAL_SLO if prices is None else slo_of(prices)
        replicas = _replicas(view)
        courses = {
            name: _after(course, name, view, slo, replicas) for name, course in self.courses.items()
        }
        open_raises = list(_followed(self, courses, view, replicas))
        now = view.cluster_time_seconds
        over = [(one, one.score()) for one in open_raises if one.is_over(now)]
        still = tuple(one for one in open_raises if not one.is_over(now))
        models = {one.model_id: one for one in self.models}
        for one, score in over:
            model_id = one.ground.model
            models[model_id] = models.get(model_id, ModelRaises(model_id=model_id)).plus(score)
        after = self.model_copy(
            update={
                "open": still,
                "courses": {one.service: courses[one.service] for one in still},
                "models": tuple(models[name] for name in sorted(models)),
            }
        )  # fmt: skip
        return after, tuple(over)

    def outcome(
        self, one: RaiseAhead, score: AheadScore, view: ObservationView
    ) -> UnpublishedOutcome:
        """Return what is published of a raise that is over."""
        sums = next(model for model in self.models if model.model_id == one.ground.model)
        outcome = OutcomeForecast(
            cycle=one.cycle,
            cluster_time_seconds=view.cluster_time_seconds,
            observed_cycle=view.cycle,
            model_id=one.ground.model,
            horizon_seconds=one.ground.horizon_seconds,
            risk=None,
            demand=None,
            part="action",
            decision_part=one.part,
            action=score,
            actions_so_far=sums.totals(one.currency),
        )
        return UnpublishedOutcome(
            cycle=one.cycle,
            cluster_time_seconds=view.cluster_time_seconds,
            causes=(*one.causes, view.id),
            forecast=outcome,
        )


def _wishes(data: Proposal) -> Iterator[tuple[Action, float, ForecastGround]]:
    """Yield what rests on a forecast, with the time that its effect is expected in."""
    wanted = [(data.action, data.effect, data.forecast)]
    wanted += [(one.action, one.effect, one.forecast) for one in data.further]
    for action, effect, ground in wanted:
        if ground is not None and effect is not None:
            yield action, effect.horizon_seconds, ground


def _is_wish(wish: AheadWish, data: OutcomeExecution) -> bool:
    action = data.action
    return (
        isinstance(action, ReplicateAction)
        and (wish.cycle, wish.workload, wish.replicas)
        == (data.cycle, action.target.name, action.replicas)
    )  # fmt: skip


def _replicas_and_price(
    view: ObservationView | None, workload: str, prices: ScorePrices | None
) -> tuple[int, float | None]:
    """Return the replicas that a workload has, and what one of them costs an hour."""
    table = None if view is None else view.services
    if table is None or workload not in table.workload:
        return 0, None
    row = table.workload.index(workload)
    if prices is None:
        return table.wanted[row], None
    cores = table.replica_cpu_cores[row] or 0.0
    gibibytes = (table.replica_memory_bytes[row] or 0) / GIB
    return table.wanted[row], rounded(cores * prices.core_hour + gibibytes * prices.memory_gib_hour)


def _replicas(view: ObservationView) -> dict[str, Replicas]:
    table = view.services
    if table is None:
        return {}
    rows = zip(table.workload, table.ready, table.wanted, strict=True)
    return {workload: Replicas(ready, wanted) for workload, ready, wanted in rows}


def _course(service: str, view: ObservationView) -> Course | None:
    counters = () if view.work is None else view.work.services or ()
    found = next((one for one in counters if one.service == service), None)
    return None if found is None else Course(view.cluster_time_seconds, found)


def _after(
    course: Course, service: str, view: ObservationView, slo: Slo, replicas: Mapping[str, Replicas]
) -> Course:
    """Return a Service's course after an observation, as short as it may be."""
    now = _course(service, view)
    if now is None:
        return course
    of_workload = replicas.get(now.counters.workload or "", Replicas(0, 0))
    after = course.after(view.cluster_time_seconds, now.counters, of_workload, slo)
    return Course(after.seen_seconds, after.counters, after.minutes[-KEPT_MINUTES:])


def _followed(
    before: RaisesAhead,
    courses: Mapping[str, Course],
    view: ObservationView,
    replicas: Mapping[str, Replicas],
) -> Iterator[RaiseAhead]:
    """Yield the open raises after an observation."""
    now = view.cluster_time_seconds
    held = max(HELD_LOOKS * view.interval_seconds, HELD_SECONDS)
    for one in before.open:
        course, earlier = courses[one.service], before.courses[one.service]
        gap = now - earlier.seen_seconds > held or _began_anew(earlier, course)
        raised = one.model_copy(update={"unseen": True}) if gap else one
        raised = raised.with_ready(replicas.get(one.workload, Replicas(0, 0)).ready, now)
        minute = _whole_minute(course, one.seen_until_seconds)
        if minute is not None:
            others = (other for other in before.open if other.service == one.service)
            needed = [other for other in others if other.lacks(minute.rate)]
            newest = needed[-1].key if needed else None
            raised = raised.with_minute(minute, is_newest=newest == one.key)
        yield raised


def _began_anew(before: Course, now: Course) -> bool:
    """Say whether a Service's counters fell."""
    names = ("served", "failed", "lost")
    return any(getattr(now.counters, name) < getattr(before.counters, name) for name in names)


def _whole_minute(course: Course, since_seconds: float) -> Minute | None:
    """Return the newest minute that is over, unless it was over before."""
    if len(course.minutes) < KEPT_MINUTES:
        return None
    minute = course.minutes[-KEPT_MINUTES]
    return minute if minute.end_seconds > since_seconds else None
