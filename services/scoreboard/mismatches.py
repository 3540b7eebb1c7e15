"""Mismatches: each that begins or ends is published once, caused by the event at which it was noticed."""

from __future__ import annotations

from typing import Any

from projections.mismatch.fold import mismatch_after
from projections.mismatch.settings import MismatchSettings
from projections.mismatch.tally import MismatchTally
from schemas.envelope import Event, NewEvent
from schemas.mismatch import OutcomeMismatch
from schemas.model import DataModel
from schemas.observation import Observation
from schemas.view import ObservationView

KEPT_UNPUBLISHED = 20


class UnpublishedMismatch(DataModel):
    """A change that the log does not hold yet."""

    causes: tuple[str, ...]
    change: OutcomeMismatch


class Mismatches(DataModel):
    """What the checks remember, and what is not published yet."""

    tally: MismatchTally = MismatchTally()
    owed: tuple[UnpublishedMismatch, ...] = ()

    def after(
        self, event: Event[Any], view: ObservationView | None, settings: MismatchSettings
    ) -> Mismatches:
        """Return the same after a stored event; an observation is shown whole by `view`."""
        if isinstance(event.data, OutcomeMismatch):
            owed = tuple(one for one in self.owed if one.change.number != event.data.number)
            return self.model_copy(update={"owed": owed})
        shown = view if isinstance(event.data, Observation) else None
        nodes = None if shown is None else shown.nodes
        tally, changes = mismatch_after(self.tally, event, nodes, settings)
        if tally is self.tally:
            return self
        owed = tuple(UnpublishedMismatch(causes=(event.id,), change=one) for one in changes)
        return Mismatches(tally=tally, owed=(*self.owed, *owed)[-KEPT_UNPUBLISHED:])

    def new_events(self) -> tuple[NewEvent, ...]:
        """Return the events to publish, in order."""
        return tuple(
            NewEvent(one.change, one.change.cycle, one.change.cluster_time_seconds, one.causes)
            for one in self.owed
        )
