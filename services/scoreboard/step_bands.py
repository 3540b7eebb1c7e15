"""Scoring bands of a trained model's step: was its mean within, by whom, and what did it cost beside the simple rule?

What came is the mean over the very step that was foreseen, by the code that makes the history which models read. A
step of which a part was not seen is not scored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from features.live.followed_history import steps_after
from features.workload_history.grid import STEP_SECONDS, step_at
from features.workload_history.sums import NO_STEPS, OpenSteps, whole_means
from projections.demotion.band_sums import KEPT_ERRORS, BandSums, band_sums, simple_error
from schemas.model import DataModel
from schemas.numbers import Rounded, Seconds
from schemas.outcome import OutcomeForecast
from schemas.prediction import PredictionDemand
from schemas.view import ObservationView
from services.scoreboard.bands import WaitingBands, sampled_series
from services.scoreboard.unpublished import UnpublishedOutcome

WAITING = 6
"""Forecasts of one horizon that wait at once; of those between none is scored."""
RATES = "service/"


class StepsSettled(NamedTuple):
    """What an observation settled."""

    sums: tuple[tuple[str, BandSums], ...]
    """By horizon and model the sums over the series whose step was seen whole, named by the model."""
    outcomes: tuple[UnpublishedOutcome, ...]

    def by_model(self) -> dict[str, BandSums]:
        """Return the sums of all horizons by model."""
        total: dict[str, BandSums] = {}
        for model_id, sums in self.sums:
            total[model_id] = total.get(model_id, BandSums()).plus(sums)
        return total


NOTHING_SETTLED = StepsSettled((), ())


class ModelSums(DataModel):
    """Everything that one model, or the simple rule in its place, was scored on at one horizon."""

    model_id: str
    horizon_seconds: Seconds
    sums: BandSums = BandSums()


class SimpleErrors(DataModel):
    """The simple rule's newest errors at one horizon, of one kind of series."""

    kind: str
    """`service` or `nodes`."""
    horizon_seconds: Seconds
    errors: tuple[Rounded, ...] = ()


class ScoredSteps(DataModel):
    """The steps that are not over yet, forecasts in waiting, and the sums so far."""

    names: tuple[str, ...] = ()
    """Series that are followed, sorted: those that the newest forecasts are of."""
    totals: dict[int, dict[str, tuple[float, float]]] = {}
    """See `features.workload_history.sums.OpenSteps`."""
    requests: dict[str, float] = {}
    seen_seconds: Seconds | None = None
    waiting: tuple[WaitingBands, ...] = ()
    so_far: tuple[ModelSums, ...] = ()
    """By horizon and model."""
    errors: tuple[SimpleErrors, ...] = ()

    def with_prediction(self, data: PredictionDemand, prediction_id: str) -> ScoredSteps:
        """Return this with the forecasts of steps that will be scored."""
        steps = [bands for bands in data.bands if bands.step_seconds == STEP_SECONDS]
        new = tuple(
            WaitingBands(
                cycle=data.cycle,
                prediction_id=prediction_id,
                horizon_seconds=bands.horizon_seconds,
                end_time_seconds=bands.end_time_seconds,
                series=sampled_series(bands.series),
            )
            for bands in steps
            if bands.end_time_seconds % _spacing(bands.horizon_seconds) == 0.0
        )
        names = sorted({name for bands in new for name in bands.series.ids})
        return self.model_copy(
            update={"waiting": (*self.waiting, *new), "names": tuple(names) or self.names}
        )

    def with_view(self, view: ObservationView) -> tuple[ScoredSteps, StepsSettled]:
        """Return this after an observation, and what it settled."""
        now = view.cluster_time_seconds
        if self.seen_seconds is not None and now <= self.seen_seconds:
            return self, NOTHING_SETTLED
        steps, requests = steps_after(self._open_steps, self.requests, self.seen_seconds, view)
        seen = self.model_copy(
            update={
                "totals": _only(steps, frozenset(self.names), step_at(now)),
                "requests": dict(requests),
                "seen_seconds": now,
            }
        )
        over = [one for one in self.waiting if one.end_time_seconds <= step_at(now) * STEP_SECONDS]
        if not over:
            return seen, NOTHING_SETTLED
        waiting = tuple(one for one in self.waiting if one not in over)
        looks = STEP_SECONDS / view.interval_seconds
        means = {one.end_time_seconds: _means(steps, one.end_time_seconds, looks) for one in over}
        return _scored(seen.model_copy(update={"waiting": waiting}), over, means, view)

    @property
    def _open_steps(self) -> OpenSteps:
        names = (name for totals in self.totals.values() for name in totals)
        rates = frozenset(name for name in names if name.startswith(RATES))
        return OpenSteps(self.totals, rates) if self.totals else NO_STEPS


def _scored(
    scored: ScoredSteps,
    over: Sequence[WaitingBands],
    means: Mapping[float, Mapping[str, float]],
    view: ObservationView,
) -> tuple[ScoredSteps, StepsSettled]:
    """Return what is scored after forecasts whose step is over, and what that settled.

    Args:
        scored: what was before.
        over: the forecasts.
        means: by end of a step what came of each series in it.
        view: the observation that showed it.
    """
    errors = {(one.kind, one.horizon_seconds): one.errors for one in scored.errors}
    so_far = {(one.horizon_seconds, one.model_id): one.sums for one in scored.so_far}
    settled, outcomes = [], []
    made: dict[tuple[str, float], list[float]] = {}
    for waiting in over:
        new = _compare(waiting, means[waiting.end_time_seconds], errors, made)
        for model_id, total in sorted(new.items()):
            place = waiting.horizon_seconds, model_id
            settled.append((model_id, total))
            so_far[place] = so_far.get(place, BandSums()).plus(total)
            outcomes.append(_outcome(waiting, model_id, view, (total, so_far[place])))
    errors |= {key: (*errors.get(key, ()), *new)[-KEPT_ERRORS:] for key, new in made.items()}
    after = scored.model_copy(
        update={
            "so_far": tuple(
                ModelSums(model_id=model_id, horizon_seconds=horizon, sums=so_far[horizon, model_id])
                for horizon, model_id in sorted(so_far)
            ),
            "errors": tuple(
                SimpleErrors(kind=kind, horizon_seconds=horizon, errors=errors[kind, horizon])
                for kind, horizon in sorted(errors)
            ),
        }
    )  # fmt: skip
    return after, StepsSettled(tuple(settled), tuple(outcomes))


def _compare(
    waiting: WaitingBands,
    came: Mapping[str, float],
    errors: Mapping[tuple[str, float], Sequence[float]],
    made: dict[tuple[str, float], list[float]],
) -> dict[str, BandSums]:
    """Return the sums of the scored series by model; add to `made` what the simple rule erred by."""
    by_model: dict[str, BandSums] = {}
    table, horizon = waiting.series, waiting.horizon_seconds
    for row, name in enumerate(table.ids):
        if name in came:
            kind = name.partition("/")[0]
            sums = band_sums(table, row, came[name], errors.get((kind, horizon), ()))
            model_id = table.rule[row]
            by_model[model_id] = by_model.get(model_id, BandSums()).plus(sums)
            made.setdefault((kind, horizon), []).append(simple_error(table.newest[row], came[name]))
    return by_model


def _spacing(horizon_seconds: float) -> float:
    return STEP_SECONDS * max(1, math.ceil(horizon_seconds / WAITING / STEP_SECONDS))


def _only(
    steps: OpenSteps, names: frozenset[str], first_open: int
) -> dict[int, dict[str, tuple[float, float]]]:
    """Return the totals of some series in steps that are not over."""
    return {
        step: {name: total for name, total in totals.items() if name in names}
        for step, totals in steps.totals.items()
        if step >= first_open
    }


def _means(steps: OpenSteps, end_seconds: float, looks: float) -> dict[str, float]:
    return whole_means(steps, step_at(end_seconds) - 1, looks)


def _outcome(
    waiting: WaitingBands, model_id: str, view: ObservationView, sums: tuple[BandSums, BandSums]
) -> UnpublishedOutcome:
    new, so_far = sums
    outcome = OutcomeForecast(
        cycle=waiting.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        observed_cycle=view.cycle,
        model_id=model_id,
        horizon_seconds=waiting.horizon_seconds,
        risk=None,
        demand=None,
        part="bands",
        bands=new.score(),
        bands_so_far=so_far.score(),
    )
    return UnpublishedOutcome(
        cycle=waiting.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        causes=(waiting.prediction_id, view.id),
        forecast=outcome,
    )
