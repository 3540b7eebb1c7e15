"""Scoring bands of a minute: was it within, and did the middle err less than the simple rule?"""

from __future__ import annotations

import math
from collections.abc import Mapping

from features.live.demand_series import MINUTE_SECONDS, MinuteSums, WholeMinute, sums_after
from projections.demotion.band_sums import BandSums
from schemas.model import DataModel
from schemas.numbers import Cycle, Seconds
from schemas.outcome import MINUTE_BANDS_ID, OutcomeForecast
from schemas.prediction import BandTable, PredictionDemand
from schemas.view import ObservationView
from services.scoreboard.unpublished import UnpublishedOutcome

WAITING = 5
"""Forecasts of one horizon that wait at once; of those between none is scored."""
SCORED_SERIES = 60
"""Series scored of one forecast; in a larger cluster an evenly spaced sample."""


class WaitingBands(DataModel):
    """A forecast that waits for its minute."""

    cycle: Cycle
    prediction_id: str
    horizon_seconds: Seconds
    end_time_seconds: Seconds
    series: BandTable


class ScoredBands(DataModel):
    """The minute that is not over yet, forecasts in waiting, and the sums by horizon in seconds."""

    sums: MinuteSums | None = None
    waiting: tuple[WaitingBands, ...] = ()
    by_horizon: dict[str, BandSums] = {}

    def with_prediction(self, data: PredictionDemand, prediction_id: str) -> ScoredBands:
        """Return this with the forecasts of one minute that will be scored."""
        new = tuple(
            WaitingBands(
                cycle=data.cycle,
                prediction_id=prediction_id,
                horizon_seconds=bands.horizon_seconds,
                end_time_seconds=bands.end_time_seconds,
                series=sampled_series(bands.series),
            )
            for bands in data.bands
            if bands.is_of_a_minute
            and bands.end_time_seconds % _spacing(bands.horizon_seconds) == 0.0
        )
        return self.model_copy(update={"waiting": (*self.waiting, *new)})

    def with_view(
        self, view: ObservationView
    ) -> tuple[ScoredBands, tuple[UnpublishedOutcome, ...]]:
        """Return this after an observation, and what it settled; a minute that was not seen is not scored."""
        sums, ended = sums_after(self.sums, view)
        if not ended:
            return self.model_copy(update={"sums": sums}), ()
        by_horizon, settled, waiting = dict(self.by_horizon), [], []
        over = (ended[-1].minute + 1) * MINUTE_SECONDS
        for forecast in self.waiting:
            if forecast.end_time_seconds > over:
                waiting.append(forecast)
                continue
            seen = next((each for each in ended if _ends(each) == forecast.end_time_seconds), None)
            new = BandSums() if seen is None else _compare(forecast.series, seen.means)
            if not new.targets:
                continue
            name = f"{forecast.horizon_seconds:g}"
            by_horizon[name] = by_horizon.get(name, BandSums()).plus(new)
            settled.append(_scored(forecast, view, new, by_horizon[name]))
        after = ScoredBands.model_construct(
            sums=sums, waiting=tuple(waiting), by_horizon=by_horizon
        )
        return after, tuple(settled)


def _spacing(horizon_seconds: float) -> float:
    return max(MINUTE_SECONDS, horizon_seconds / WAITING)


def _ends(minute: WholeMinute) -> float:
    return (minute.minute + 1) * MINUTE_SECONDS


def sampled_series(table: BandTable) -> BandTable:
    """Return the series of a forecast that are scored, at most `SCORED_SERIES`."""
    step = max(1, math.ceil(len(table) / SCORED_SERIES))
    return BandTable(**{name: column[::step] for name, column in table})


def _compare(table: BandTable, seen: Mapping[str, float]) -> BandSums:
    inside = targets = 0
    errors, simple_errors = [], []
    for row, name in enumerate(table.ids):
        if name not in seen:
            continue
        value, middle, newest = seen[name], table.middle[row], table.newest[row]
        scale = max(middle, newest)
        targets += 1
        inside += table.low[row] <= value <= table.high[row]
        errors.append(abs(value - middle) / scale if scale > 0.0 else 0.0)
        simple_errors.append(abs(value - newest) / scale if scale > 0.0 else 0.0)
    return BandSums(
        targets=targets,
        inside=inside,
        error_sum=math.fsum(errors),
        last_value_error_sum=math.fsum(simple_errors),
    )


def _scored(
    forecast: WaitingBands, view: ObservationView, new: BandSums, so_far: BandSums
) -> UnpublishedOutcome:
    outcome = OutcomeForecast(
        cycle=forecast.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        observed_cycle=view.cycle,
        model_id=MINUTE_BANDS_ID,
        horizon_seconds=forecast.horizon_seconds,
        risk=None,
        demand=None,
        part="bands",
        bands=new.score(),
        bands_so_far=so_far.score(),
    )
    return UnpublishedOutcome(
        cycle=forecast.cycle,
        cluster_time_seconds=view.cluster_time_seconds,
        causes=(forecast.prediction_id, view.id),
        forecast=outcome,
    )
