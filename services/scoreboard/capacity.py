"""Scoring what replicas were said to bear: did the objective hold below it, and break above?"""

from __future__ import annotations

from features.live.capacity.learned import LearnedCapacity, learn_observation
from features.live.capacity.windows import Objective
from schemas.capacity import PredictionCapacity
from schemas.capacity_score import CapacityScore
from schemas.model import DataModel
from schemas.outcome import OutcomeForecast
from schemas.view import ObservationView
from services.scoreboard.unpublished import UnpublishedOutcome

CAPACITY_ID = "replica-capacity/1"
NOTHING = CapacityScore(below=0, held_below=0, above=0, broke_above=0)


class ScoredCapacity(DataModel):
    """The newest statement, the windows that are judged by it, and the sums so far."""

    statement: PredictionCapacity
    statement_id: str
    seen: LearnedCapacity = LearnedCapacity()
    so_far: CapacityScore = NOTHING

    def with_view(
        self, view: ObservationView
    ) -> tuple[ScoredCapacity, tuple[UnpublishedOutcome, ...]]:
        """Return this after an observation, and the score of the windows that ended with it."""
        told = self.statement
        objective = Objective(latency_seconds=told.latency_seconds, bad_ratio=told.bad_ratio)
        seen = learn_observation(self.seen, view, objective)
        rows, table = told.workloads.index(), told.workloads
        new = NOTHING
        for name, workload in seen.workloads.items():
            window = workload.ended
            if window is not None and name in rows and seen is not self.seen:
                below = window.replica_rate <= table.replica_rate[rows[name]]
                new = _plus(new, _one(below=below, held=window.holds(objective)))
        after = self.model_copy(update={"seen": seen, "so_far": _plus(self.so_far, new)})
        return after, (_scored(after, view, new),) if new.windows else ()


def with_statement(
    scored: ScoredCapacity | None, statement: PredictionCapacity, statement_id: str
) -> ScoredCapacity:
    """Return the score with a newer statement, by which windows that end from now on are judged."""
    if scored is None:
        return ScoredCapacity(statement=statement, statement_id=statement_id)
    return scored.model_copy(update={"statement": statement, "statement_id": statement_id})


def _one(*, below: bool, held: bool) -> CapacityScore:
    return CapacityScore(
        below=below,
        held_below=below and held,
        above=not below,
        broke_above=not below and not held,
    )


def _plus(one: CapacityScore, other: CapacityScore) -> CapacityScore:
    return CapacityScore(
        **{name: getattr(one, name) + getattr(other, name) for name in CapacityScore.model_fields}
    )


def _scored(
    scored: ScoredCapacity, view: ObservationView, new: CapacityScore
) -> UnpublishedOutcome:
    told = scored.statement
    outcome = OutcomeForecast(
        cycle=told.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        observed_cycle=view.cycle,
        model_id=CAPACITY_ID,
        horizon_seconds=max(0.0, view.cluster_time_seconds - told.cluster_time_seconds),
        risk=None,
        demand=None,
        part="capacity",
        capacity=new,
        capacity_so_far=scored.so_far,
    )
    return UnpublishedOutcome(
        cycle=told.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        causes=(scored.statement_id, view.id),
        forecast=outcome,
    )
