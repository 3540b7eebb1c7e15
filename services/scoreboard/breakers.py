"""The breakers: each change is published once, as a fold of what the log holds before its observation."""

from __future__ import annotations

from typing import Any

from projections.breaker.judging import BreakerChange, judge
from projections.breaker.settings import BreakerSettings
from projections.breaker.tally import BreakerTally, after_event
from projections.breaker.text import change_text
from schemas.breaker import OutcomeBreaker
from schemas.envelope import Event, NewEvent
from schemas.model import DataModel
from schemas.observation import Observation
from schemas.view import ObservationView

KEPT_UNPUBLISHED = 20


class UnpublishedBreaker(DataModel):
    """A change that the log does not hold yet."""

    causes: tuple[str, ...]
    change: OutcomeBreaker


class Breakers(DataModel):
    """State of the breakers, and what is not published yet."""

    tally: BreakerTally = BreakerTally()
    owed: tuple[UnpublishedBreaker, ...] = ()

    def after(self, event: Event[Any], settings: BreakerSettings) -> Breakers:
        """Return the same after a stored event; a change that the log holds now is published."""
        if isinstance(event.data, OutcomeBreaker):
            place = event.data.cycle, event.data.unit
            owed = tuple(one for one in self.owed if (one.change.cycle, one.change.unit) != place)
            return self.model_copy(update={"owed": owed})
        tally = after_event(self.tally, event, settings)
        return self if tally is self.tally else self.model_copy(update={"tally": tally})

    def after_observation(self, view: ObservationView, settings: BreakerSettings) -> Breakers:
        """Return the same after an observation, at which the breakers are judged."""
        tally, changes = judge(self.tally, view.cluster_time_seconds, settings)
        if tally is self.tally and not changes:
            return self
        owed = tuple(
            UnpublishedBreaker(causes=(view.id,), change=_event_of(change, view))
            for change in changes
        )
        return Breakers(tally=tally, owed=(*self.owed, *owed)[-KEPT_UNPUBLISHED:])

    def new_events(self) -> tuple[NewEvent, ...]:
        """Return the events to publish, in order."""
        return tuple(
            NewEvent(one.change, one.change.cycle, one.change.cluster_time_seconds, one.causes)
            for one in self.owed
        )


def breakers_after(
    breakers: Breakers | None,
    event: Event[Any],
    view: ObservationView | None,
    settings: BreakerSettings,
) -> Breakers:
    """Return the breakers after a stored event; an observation, which `view` shows whole, is where they change."""
    after = (breakers or Breakers()).after(event, settings)
    if view is None or not isinstance(event.data, Observation):
        return after
    return after.after_observation(view, settings)


def _event_of(change: BreakerChange, view: ObservationView) -> OutcomeBreaker:
    finding = change.finding
    standing = next((one for one in change.standing if one.unit == change.unit), None)
    until = 0.0 if standing is None else standing.until_seconds
    why = "" if finding is None else finding.text
    return OutcomeBreaker(
        cycle=view.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        unit=change.unit,
        before=change.before,
        state=change.state,
        cause=change.cause,
        measured=None if finding is None else finding.measured,
        limit=None if finding is None else finding.limit,
        measured_unit="" if finding is None else finding.unit,
        executions=0 if finding is None else finding.executions,
        text=change_text(change.unit, change.state, change.cause, why, until),
        standing=change.standing,
    )
