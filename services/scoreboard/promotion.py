"""The promotion of risk models: each judgement is published once, as a fold of the log before its observation."""

from __future__ import annotations

from typing import Any

from projections.promotion.judging import PromotionJudgement, judge
from projections.promotion.settings import PromotionSettings
from projections.promotion.sums import ScoredTarget
from projections.promotion.tally import PromotionTally
from schemas.breaker import BreakerCause, BreakerState, OutcomeBreaker
from schemas.envelope import Event, NewEvent
from schemas.model import DataModel
from schemas.observation import Observation
from schemas.promotion import OutcomeModels, driving_text
from schemas.view import ObservationView
from services.scoreboard.pending import PendingForecast

KEPT_UNPUBLISHED = 20


class UnpublishedJudgement(DataModel):
    """A judgement that the log does not hold yet."""

    causes: tuple[str, ...]
    judgement: OutcomeModels


class Promotion(DataModel):
    """Basis of promotion, and what is not published yet."""

    tally: PromotionTally = PromotionTally()
    owed: tuple[UnpublishedJudgement, ...] = ()

    def after_forecast(self, forecast: PendingForecast, settings: PromotionSettings) -> Promotion:
        """Return the same after the horizon of a prediction has passed.

        Only probabilities of failing attempts are judged, and of a model that predicts as a shadow and drives as well
        only what it says as a shadow: the same nodes in the same cycles, whether it drives or not.
        """
        if forecast.risk is None or forecast.failure != "attempt_failed":
            return self
        elsewhere = any(
            one.model_id == forecast.model_id and one.slot != forecast.slot
            for one in self.tally.sums
        )
        if elsewhere and not forecast.slot:
            return self
        scored = scored_targets(forecast)
        tally = self.tally.after_scored(
            forecast.slot,
            forecast.model_id,
            forecast.cluster_time_seconds,
            scored,
            len(forecast.risk) - len(scored),
            settings,
        )
        return self.model_copy(update={"tally": tally})

    def after(self, event: Event[Any]) -> Promotion:
        """Return the same after a stored event; a judgement that the log holds now is published."""
        match event.data:
            case OutcomeModels(cycle=cycle):
                owed = tuple(one for one in self.owed if one.judgement.cycle != cycle)
                return self.model_copy(update={"owed": owed})
            case OutcomeBreaker(cause=BreakerCause.SKILL, state=BreakerState.SHADOW) as change:
                tripped = {"skill_tripped_seconds": change.cluster_time_seconds}
                return self.model_copy(update={"tally": self.tally.model_copy(update=tripped)})
        return self

    def after_observation(self, view: ObservationView, settings: PromotionSettings) -> Promotion:
        """Return the same after an observation, at which models are judged once a block."""
        tally, judgement = judge(self.tally, view.cluster_time_seconds, settings)
        if judgement is None:
            return self if tally is self.tally else self.model_copy(update={"tally": tally})
        owed = UnpublishedJudgement(
            causes=(view.id,), judgement=_event_of(judgement, view, settings)
        )
        return Promotion(tally=tally, owed=(*self.owed, owed)[-KEPT_UNPUBLISHED:])

    def new_events(self) -> tuple[NewEvent, ...]:
        """Return the events to publish, in order."""
        return tuple(
            NewEvent(
                one.judgement, one.judgement.cycle, one.judgement.cluster_time_seconds, one.causes
            )
            for one in self.owed
        )


def promotion_after(
    promotion: Promotion | None,
    event: Event[Any],
    view: ObservationView | None,
    settings: PromotionSettings,
) -> Promotion:
    """Return it after a stored event; an observation, which `view` shows whole, is where models are judged."""
    after = (promotion or Promotion()).after(event)
    if view is None or not isinstance(event.data, Observation):
        return after
    return after.after_observation(view, settings)


def scored_targets(forecast: PendingForecast) -> tuple[ScoredTarget, ...]:
    """Return the nodes of a prediction whose outcome is known and ours did not change.

    A node that went ended all that ran on it, which is another end than a failure: it counts as it was seen. Where
    nobody looked for a while nothing is known of any node.
    """
    table, alarm, abstained = forecast.risk, forecast.alarm_ratio, frozenset(forecast.abstained)
    if table is None or forecast.unseen:
        return ()
    return tuple(
        ScoredTarget(
            name=name,
            ratio=ratio,
            failed=name in forecast.failed,
            alarm=alarm is not None and ratio >= alarm and name not in abstained,
            weight=1.0 / forecast.left.get(name, 1.0),
        )
        for name, ratio in zip(table.ids, table.risk_ratio, strict=True)
        if name not in forecast.acted
    )


def _event_of(
    judgement: PromotionJudgement, view: ObservationView, settings: PromotionSettings
) -> OutcomeModels:
    return OutcomeModels(
        cycle=view.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        window_seconds=settings.window_seconds,
        confidence_ratio=settings.confidence_ratio,
        driving=judgement.driving,
        before=judgement.before,
        models=judgement.models,
        text=driving_text(judgement.before, judgement.driving),
    )
