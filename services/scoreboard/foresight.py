"""Foresight: bands of steps are scored, raises that rest on them followed, and models of demand judged."""

from __future__ import annotations

from typing import Any

from projections.demotion.judging import ForesightJudgement, judge
from projections.demotion.settings import ForesightSettings
from projections.demotion.tally import DemandTally
from schemas.envelope import Event, NewEvent
from schemas.foresight import OutcomeForesight, shadows_text
from schemas.foresight_score import AheadScore
from schemas.model import DataModel
from schemas.observation import Observation
from schemas.outcome import OutcomeExecution
from schemas.prediction import PredictionDemand
from schemas.proposal import Proposal
from schemas.view import ObservationView
from services.scoreboard.raise_ahead import RaiseAhead
from services.scoreboard.raises_ahead import RaisesAhead
from services.scoreboard.settings import ScoreboardSettings
from services.scoreboard.step_bands import ScoredSteps, StepsSettled
from services.scoreboard.unpublished import UnpublishedOutcome

KEPT_UNPUBLISHED = 20


class UnpublishedForesight(DataModel):
    """A judgement that the log does not hold yet."""

    causes: tuple[str, ...]
    judgement: OutcomeForesight


class ForesightScores(DataModel):
    """What is scored of forecasts of demand, and what is not published yet."""

    steps: ScoredSteps = ScoredSteps()
    raises: RaisesAhead = RaisesAhead()
    tally: DemandTally = DemandTally()
    owed: tuple[UnpublishedForesight, ...] = ()

    def after(
        self, event: Event[Any], view: ObservationView | None, settings: ScoreboardSettings
    ) -> tuple[ForesightScores, tuple[UnpublishedOutcome, ...]]:
        """Return the same after a stored event, and what it settled; an observation is shown whole by `view`."""
        judged = settings.foresight.enabled
        match event.data:
            case PredictionDemand(bands=bands) if bands:
                return self._with_bands(event, judged=judged), ()
            case Proposal() if judged:
                raises = self.raises.with_proposal(event.data, view, settings.score)
            case OutcomeExecution() if judged:
                raises = self.raises.with_execution(event, view, settings.score)
            case OutcomeForesight(cycle=cycle):
                owed = tuple(one for one in self.owed if one.judgement.cycle != cycle)
                return self.model_copy(update={"owed": owed}), ()
            case Observation() if view is not None:
                return self._with_view(view, settings)
            case _:
                return self, ()
        return (self if raises is self.raises else self.model_copy(update={"raises": raises})), ()

    def _with_bands(self, event: Event[Any], *, judged: bool) -> ForesightScores:
        update: dict[str, object] = {}
        if not event.data.bands[0].is_of_a_minute:
            update["steps"] = self.steps.with_prediction(event.data, event.id)
        if judged:
            update["raises"] = self.raises.with_bands(event)
        return self.model_copy(update=update)

    def _with_view(
        self, view: ObservationView, settings: ScoreboardSettings
    ) -> tuple[ForesightScores, tuple[UnpublishedOutcome, ...]]:
        steps, settled = self.steps.with_view(view)
        if not settings.foresight.enabled:
            return self.model_copy(update={"steps": steps}), settled.outcomes
        raises, over = self.raises.with_view(view, settings.score)
        tally = _tally_after(self.tally, settled, over, view, settings.foresight)
        tally, judgement = judge(tally, view.cluster_time_seconds, settings.foresight)
        update: dict[str, object] = {"steps": steps, "raises": raises, "tally": tally}
        if judgement is not None:
            event = _event_of(judgement, view, settings.foresight)
            owed = UnpublishedForesight(causes=(view.id,), judgement=event)
            update["owed"] = (*self.owed, owed)[-KEPT_UNPUBLISHED:]
        outcomes = tuple(raises.outcome(one, score, view) for one, score in over)
        return self.model_copy(update=update), (*settled.outcomes, *outcomes)

    def new_events(self) -> tuple[NewEvent, ...]:
        """Return the judgements to publish, in order."""
        return tuple(
            NewEvent(
                one.judgement, one.judgement.cycle, one.judgement.cluster_time_seconds, one.causes
            )
            for one in self.owed
        )


def _tally_after(
    tally: DemandTally,
    settled: StepsSettled,
    over: tuple[tuple[RaiseAhead, AheadScore], ...],
    view: ObservationView,
    settings: ForesightSettings,
) -> DemandTally:
    """Return the tally with what an observation has settled."""
    now = view.cluster_time_seconds
    for model_id, sums in settled.by_model().items():
        model = tally.model(model_id).with_targets(now, sums, settings.block_seconds)
        tally = tally.with_model(model)
    for one, score in over:
        if score.right is not None:
            tally = tally.with_model(tally.model(one.ground.model).with_raise(score))
    return tally


def _event_of(
    judgement: ForesightJudgement, view: ObservationView, settings: ForesightSettings
) -> OutcomeForesight:
    return OutcomeForesight(
        cycle=view.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        window_seconds=settings.window_seconds,
        confidence_ratio=settings.confidence_ratio,
        shadows=judgement.shadows,
        before=judgement.before,
        models=judgement.models,
        text=shadows_text(judgement.before, judgement.shadows),
    )
