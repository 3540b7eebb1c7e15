"""The outcome score of this world, and its difference from the untouched one.

This world is scored at each observation. The two are compared at the cycles of which both were seen, each
from the first of these on, so that their times are the same.
"""

from __future__ import annotations

from typing import Any

from projections.score.money import difference_of, score_of, slo_of
from projections.score.prices import ScorePrices
from projections.score.tally import ScoreInput, Tally, add_score_input, begin_tally, score_input_of
from schemas.envelope import Event, NewEvent
from schemas.model import DataModel
from schemas.score import OutcomeCounterfactual, OutcomeScore
from schemas.view import ObservationView, update_view

KEPT_LOOKS = 10
"""Looks of this world that wait for the other's; the other is seldom more than one cycle behind."""
KEPT_UNPUBLISHED = 30
"""Outcomes kept for publishing at once, so that a checkpoint stays small; totals go on without those given up."""


class UnpublishedScore(DataModel):
    """An outcome that the log does not hold yet; one of the two is set."""

    causes: tuple[str, ...]
    score: OutcomeScore | None = None
    counterfactual: OutcomeCounterfactual | None = None

    @property
    def data(self) -> OutcomeScore | OutcomeCounterfactual:
        """Outcomes to publish."""
        data = self.score or self.counterfactual
        assert data is not None
        return data

    @property
    def cycle(self) -> int:
        """The cycle it is about."""
        return self.data.cycle


class ScoredWorlds(DataModel):
    """Tallies of both worlds, and what is not published yet."""

    tally: Tally | None = None
    """This world at every observation."""
    looks: tuple[ScoreInput, ...] = ()
    """Of this world, without the other's yet."""
    untouched_view: ObservationView | None = None
    acted: Tally | None = None
    """This world at the cycles of which both were seen; `untouched` goes with it."""
    untouched: Tally | None = None
    owed: tuple[UnpublishedScore, ...] = ()

    def new_events(self) -> tuple[NewEvent, ...]:
        """Return the events to publish, in order."""
        return tuple(
            NewEvent(owed.data, owed.cycle, owed.data.cluster_time_seconds, owed.causes)
            for owed in self.owed
        )

    def without(self, published: OutcomeScore | OutcomeCounterfactual) -> ScoredWorlds:
        """Return the same without what the log holds now."""
        owed = tuple(
            owed
            for owed in self.owed
            if owed.cycle != published.cycle or type(owed.data) is not type(published)
        )
        return self.model_copy(update={"owed": owed})


def acted_observed(
    worlds: ScoredWorlds, view: ObservationView, prices: ScorePrices | None
) -> ScoredWorlds:
    """Return the worlds after an observation of this one; it is scored from the second on."""
    look = score_input_of(view)
    if look is None or prices is None:
        return worlds
    looks = (*worlds.looks, look)[-KEPT_LOOKS:]
    before = worlds.tally
    if before is None or look.cycle <= before.look.cycle:
        return worlds.model_copy(update={"tally": before or begin_tally(look), "looks": looks})
    tally = add_score_input(before, look, slo_of(prices))
    owed = UnpublishedScore(causes=(before.look.id, look.id), score=score_of(tally, prices))
    return worlds.model_copy(
        update={"tally": tally, "looks": looks, "owed": (*worlds.owed, owed)[-KEPT_UNPUBLISHED:]}
    )


def untouched_observed(
    worlds: ScoredWorlds, event: Event[Any], prices: ScorePrices | None
) -> ScoredWorlds:
    """Return the worlds after an observation of the untouched one, which follows this one's."""
    view = update_view(worlds.untouched_view, event)
    worlds = worlds.model_copy(update={"untouched_view": view})
    look = None if view is None else score_input_of(view)
    if look is None or prices is None:
        return worlds
    ours = next((own for own in worlds.looks if own.cycle == look.cycle), None)
    if ours is None:
        return worlds
    looks = tuple(own for own in worlds.looks if own.cycle > look.cycle)
    worlds = worlds.model_copy(update={"looks": looks})
    if worlds.acted is None or worlds.untouched is None:
        begun = {"acted": begin_tally(ours), "untouched": begin_tally(look)}
        return worlds.model_copy(update=begun)
    slo = slo_of(prices)
    acted, untouched = (
        add_score_input(worlds.acted, ours, slo),
        add_score_input(worlds.untouched, look, slo),
    )
    difference = difference_of(acted, untouched, prices)
    owed = UnpublishedScore(causes=(ours.id, look.id), counterfactual=difference)
    return worlds.model_copy(
        update={
            "acted": acted,
            "untouched": untouched,
            "owed": (*worlds.owed, owed)[-KEPT_UNPUBLISHED:],
        }
    )
