"""Demand foretold by a trained model of rates: a fold of the followed history, made anew as each of its steps ends.

The model and the history come in; bands as `prediction.demand` carries them come out. What calibrates each series
outlives a restart in the checkpoint.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from pydantic import PlainSerializer, PlainValidator

from features.series.quantiles import Floats
from features.workload_history.grid import STEP_SECONDS
from features.workload_history.history import WorkloadHistory
from schemas.numbers import rounded
from schemas.prediction import BandTable, DemandBands
from services.inference.demand_forecaster import DemandBands as ForecastBands
from services.inference.demand_forecaster import DemandForecaster
from services.inference.speakers import Numbers

KINDS = ("service/", "nodes/")
"""Series whose demand somebody acts on."""
MOST_SERIES = 1_000
"""Series foretold at each step, the first by name: a thousand take a second and half a gigabyte."""
MOST_NEW = 50
"""Series that are met with an observation, each a tenth of a second: others are met with those that follow."""
LOWEST, LOW, MIDDLE, HIGH, HIGHEST = range(5)


@dataclass(frozen=True, slots=True, eq=False)
class Foretold:
    """What was foretold when the newest step had ended."""

    step: int
    """The first step that was not over yet."""
    forecaster: DemandForecaster
    """Never changed; the next step's is a copy."""
    bands: tuple[DemandBands, ...]
    is_new: bool
    """Whether a step was over with the newest observation."""


def foretold_after(foretold: Foretold | None, history: WorkloadHistory, model: Numbers) -> Foretold:
    """Return what is foretold after an observation; the same bands while no further step has ended.

    Args:
        foretold: what was before; None at first, and where it was restored without its model.
        history: what is known of each series, the observation included.
        model: a trained model of rates.
    """
    step = history.next_step
    names = sorted(name for name in history.ids if name.startswith(KINDS))[:MOST_SERIES]
    before = DemandForecaster(None, STEP_SECONDS) if foretold is None else foretold.forecaster
    is_over = foretold is None or foretold.step != step
    new = before.not_met(names)[:MOST_NEW]
    if foretold is not None and not is_over and not new:
        return replace(foretold, is_new=False)
    forecaster = before.copy(model)
    origin_s = (step - 1) * STEP_SECONDS
    if foretold is not None and not is_over:
        forecaster.meet(new, *history.pasts(new), origin_s)
        return replace(foretold, forecaster=forecaster, is_new=False)
    waiting = frozenset(before.not_met(names)[MOST_NEW:])
    names = [name for name in names if name not in waiting]
    times, values = history.pasts(names)
    forecaster.observe_many(names, times[-1:], values[:, -1:])
    forecasts = forecaster.forecast_many(names, times, values, origin_s)
    said = {name: one for name, one in zip(names, forecasts, strict=True) if one is not None}
    newest = dict(zip(names, _newest_known(values).tolist(), strict=True))
    return Foretold(step, forecaster, _bands(said, newest, step), is_new=bool(said))


def _newest_known(values: Floats) -> Floats:
    """Return the newest value of each row that is known, NaN where none is: the newest step may be a hole."""
    known = ~np.isnan(values)
    back = np.argmax(known[:, ::-1], axis=1)
    newest: Floats = values[np.arange(len(values)), values.shape[1] - 1 - back]
    return newest


def _bands(
    said: dict[str, ForecastBands], newest: dict[str, float], step: int
) -> tuple[DemandBands, ...]:
    """Return the forecasts by horizon; that of H seconds is of the step that ends H after the newest one."""
    if not said:
        return ()
    horizons = next(iter(said.values())).horizons_seconds
    known = list(said)
    return tuple(
        DemandBands(
            horizon_seconds=float(horizon),
            end_time_seconds=float(step * STEP_SECONDS + horizon),
            step_seconds=float(STEP_SECONDS),
            series=BandTable(
                ids=tuple(known),
                newest=tuple(rounded(newest[name]) for name in known),
                low=_column(said, known, place, LOW),
                middle=_column(said, known, place, MIDDLE),
                high=_column(said, known, place, HIGH),
                lowest=_column(said, known, place, LOWEST),
                highest=_column(said, known, place, HIGHEST),
                rule=tuple(_speaker(said[name], place) for name in known),
                basis=("own",) * len(known),
            ),
        )
        for place, horizon in enumerate(horizons)
    )


def _column(
    said: dict[str, ForecastBands], names: list[str], horizon: int, quantile: int
) -> tuple[float, ...]:
    return tuple(rounded(float(said[name].quantiles[horizon, quantile])) for name in names)


def _speaker(forecast: ForecastBands, horizon: int) -> str:
    """Return the model and its version, or the simple rule that spoke in its place."""
    name = forecast.models[horizon]
    return f"{name}/{forecast.version}" if forecast.version else name


def encode_foretold(foretold: Foretold | None) -> dict[str, Any] | None:
    """Return what a checkpoint holds; bands are made anew at the next step."""
    if foretold is None:
        return None
    return {"step": foretold.step, "forecaster": foretold.forecaster.as_json()}


def decode_foretold(value: Any) -> Foretold | None:
    """Return what `encode_foretold` made this of; it gets its model at the next step."""
    if value is None or isinstance(value, Foretold):
        return value
    try:
        forecaster = DemandForecaster.from_json(None, value["forecaster"])
        return Foretold(int(value["step"]), forecaster, (), is_new=False)
    except (KeyError, TypeError, IndexError) as error:
        raise ValueError(f"nothing foretold: {error}") from error


PackedForetold = Annotated[
    Foretold | None, PlainValidator(decode_foretold), PlainSerializer(encode_foretold)
]
