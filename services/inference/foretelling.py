"""Demand foretold by a trained model of rates: a fold of the followed history, made anew as each of its steps ends.

The model and the history come in; bands as `prediction.demand` carries them come out. What calibrates each series
outlives a restart in the checkpoint.
"""

from __future__ import annotations

import base64
import io
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from pydantic import PlainSerializer, PlainValidator

from features.live.compressed_text import inflate
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
MOST_TOLD = 50
"""Series foretold with an observation, a thousandth of a second each and a tenth when met first: the others follow."""
MOST_PREPARED = 10
"""Series that are prepared for the next step with an observation, each a fiftieth of a second after a start."""
LOWEST, LOW, MIDDLE, HIGH, HIGHEST = range(5)


@dataclass(frozen=True, slots=True, eq=False)
class Foretold:
    """What was foretold when the newest step had ended."""

    step: int
    """The first step that was not over yet."""
    forecaster: DemandForecaster
    """Never changed; that after the next forecasts is a copy."""
    bands: tuple[DemandBands, ...]
    is_new: bool
    """Whether all series were foretold with the newest observation."""
    waiting: tuple[str, ...] = ()
    """Series that are still to be foretold at this step."""
    told: Mapping[str, tuple[float, ForecastBands | None]] = field(default_factory=dict)
    """The newest value and the forecast of those that were, while others wait; None where nothing is known."""
    at_once: bool = False
    """Whether a step had ended before all were foretold: from then on none waits."""


def foretold_after(foretold: Foretold | None, history: WorkloadHistory, model: Numbers) -> Foretold:
    """Return what is foretold after an observation; the same bands while no further step has ended.

    Of many series some are foretold with each observation, as many as the log alone says, and their bands come out
    together, with the last of them.

    Args:
        foretold: what was before; None at first, and where it was restored without its model.
        history: what is known of each series, the observation included.
        model: a trained model of rates.
    """
    step = history.next_step
    names = tuple(sorted(name for name in history.ids if name.startswith(KINDS))[:MOST_SERIES])
    if foretold is None:
        foretold = Foretold(step, DemandForecaster(None, STEP_SECONDS), (), False, names)
    elif foretold.step != step:
        at_once = foretold.at_once or bool(foretold.waiting)
        foretold = replace(foretold, step=step, waiting=names, told={}, at_once=at_once)
    elif not foretold.waiting:
        _prepare(foretold.forecaster, history, names)
        return replace(foretold, is_new=False)
    return _told_more(foretold, history, names, model)


def _told_more(
    foretold: Foretold, history: WorkloadHistory, names: Sequence[str], model: Numbers
) -> Foretold:
    """Return what is foretold after the next of those that wait."""
    count = len(foretold.waiting) if foretold.at_once else MOST_TOLD
    now, later = foretold.waiting[:count], foretold.waiting[count:]
    # After a restart those told before it are told again, with the same numbers, at the end.
    done = {*foretold.told, *foretold.waiting}
    again = () if later else [name for name in names if name not in done]
    asked = (*again, *now)
    forecaster = foretold.forecaster.copy(model)
    times, values = history.pasts(asked)
    forecaster.observe_many(asked, times[-1:], values[:, -1:])
    forecasts = forecaster.forecast_many(asked, times, values, (foretold.step - 1) * STEP_SECONDS)
    new = zip(newest_known(values).tolist(), forecasts, strict=True)
    told = {**foretold.told, **dict(zip(asked, new, strict=True))}
    if later:
        return replace(foretold, forecaster=forecaster, is_new=False, waiting=later, told=told)
    said = {name: one for name, (_, one) in sorted(told.items()) if one is not None}
    newest = {name: told[name][0] for name in said}
    return replace(
        foretold,
        forecaster=forecaster,
        bands=bands_of_step(said, newest, foretold.step),
        is_new=bool(said),
        waiting=(),
        told={},
    )


def _prepare(forecaster: DemandForecaster, history: WorkloadHistory, names: Sequence[str]) -> None:
    origin_s = history.next_step * STEP_SECONDS
    late = forecaster.late(names, origin_s)[:MOST_PREPARED]
    if late:
        forecaster.prepare(late, *history.pasts(late), origin_s)


def newest_known(values: Floats) -> Floats:
    """Return the newest value of each row that is known, NaN where none is: the newest step may be a hole."""
    known = ~np.isnan(values)
    back = np.argmax(known[:, ::-1], axis=1)
    newest: Floats = values[np.arange(len(values)), values.shape[1] - 1 - back]
    return newest


def bands_of_step(
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
    packed = io.BytesIO()
    arrays: dict[str, Any] = foretold.forecaster.as_arrays()
    np.savez(packed, allow_pickle=False, **arrays)
    text = base64.b64encode(zlib.compress(packed.getvalue(), 6)).decode()
    content: dict[str, Any] = {"step": foretold.step, "packed": text}
    unfinished = {"waiting": list(foretold.waiting)} if foretold.waiting else {}
    return content | unfinished | ({"at_once": True} if foretold.at_once else {})


def decode_foretold(value: Any) -> Foretold | None:
    """Return what `encode_foretold` made this of; it gets its model at the next step."""
    if value is None or isinstance(value, Foretold):
        return value
    try:
        forecaster = _forecaster_of(value)
        waiting = tuple(value.get("waiting", ()))
        at_once = bool(value.get("at_once", False))
        return Foretold(int(value["step"]), forecaster, (), False, waiting=waiting, at_once=at_once)
    except (LookupError, TypeError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise ValueError(f"nothing foretold: {error}") from error


def _forecaster_of(value: Any) -> DemandForecaster:
    if "forecaster" in value:  # as it was stored before it was packed
        return DemandForecaster.from_json(None, value["forecaster"])
    with np.load(io.BytesIO(inflate(value["packed"])), allow_pickle=False) as arrays:
        return DemandForecaster.from_arrays(None, dict(arrays))


PackedForetold = Annotated[
    Foretold | None, PlainValidator(decode_foretold), PlainSerializer(encode_foretold)
]
