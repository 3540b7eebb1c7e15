"""Our own forecasts, each hour of the play with those of another: an arm that must not do as well as the right ones.

What the model would have said at the other hour is worked out from the rates that will come by then, so a wrong hour
may lie ahead. The rest of inference is untouched.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

import numpy as np

from features.series.quantiles import Floats
from features.workload_history.grid import STEP_SECONDS
from foresail.experiment.drawn_world import history_of
from lab.experiments.spec import Trial
from schemas.envelope import NewEvent
from schemas.prediction import DemandBands, PredictionDemand
from services.inference.demand_forecaster import LONGEST_DAYS, DemandForecaster
from services.inference.foretelling import bands_of_step, newest_known
from services.inference.service import InferenceHandler
from services.inference.speakers import Numbers
from services.inference.state import InferenceState
from twin.port.engine import Engine
from twin.port.files import Recorded, read_traffic
from twin.port.objects import TRAFFIC, ObjectRecord

HOUR_STEPS = 3_600 // STEP_SECONDS
KEPT_STEPS = LONGEST_DAYS * 24 * HOUR_STEPS


class WrongHours:
    """Bands of all Services by the step at which they are told, those of another hour."""

    def __init__(
        self, courses: Callable[[], Mapping[str, Floats]], first_step: int, steps: int, seed: int
    ) -> None:
        """Draw which hour stands for which.

        Args:
            courses: returns by series its values in steps of five minutes, until the end of the play; asked when the
                first bands are.
            first_step: the play's first step, of the grid that all share.
            steps: of the play.
            seed: of the draw.
        """
        self._courses, self._first, self._steps = courses, first_step, steps
        self._hours = deranged(math.ceil(steps / HOUR_STEPS), Random(f"{seed}/wrong-hours"))
        self._told: list[tuple[DemandBands, ...]] = []

    def bands(self, step: int, model: Numbers) -> tuple[DemandBands, ...]:
        """Return what is told at a step, as if it were the hour that stands for its own."""
        if not self._told:
            self._told = self._all_bands(model)
        hour, rest = divmod(step - self._first, HOUR_STEPS)
        other = self._hours[min(max(hour, 0), len(self._hours) - 1)] * HOUR_STEPS + rest
        told = self._told[min(max(other, 0), len(self._told) - 1)]
        return tuple(
            band.model_copy(
                update={"end_time_seconds": float(step * STEP_SECONDS + band.horizon_seconds)}
            )
            for band in told
        )

    def _all_bands(self, model: Numbers) -> list[tuple[DemandBands, ...]]:
        courses = self._courses()
        names = tuple(sorted(courses))
        longest = max(len(course) for course in courses.values())
        whole = np.full((len(names), longest), np.nan)
        for row, name in enumerate(names):
            whole[row, longest - len(courses[name]) :] = courses[name]
        forecaster = DemandForecaster(model, STEP_SECONDS)
        told = []
        for step in range(self._steps):
            end = whole.shape[1] - self._steps + step
            values = whole[:, max(0, end - KEPT_STEPS) : end]
            first = self._first + step - values.shape[1]
            times = (first + np.arange(values.shape[1], dtype=np.int64)) * STEP_SECONDS
            forecaster.observe_many(names, times[-1:], values[:, -1:])
            made = forecaster.forecast_many(names, times, values, int(times[-1]))
            said = {name: one for name, one in zip(names, made, strict=True) if one is not None}
            newest = dict(zip(names, newest_known(values).tolist(), strict=True))
            told.append(bands_of_step(said, newest, self._first + step))
        return told


class ShuffledInference(InferenceHandler):
    """Inference in all but the hour of its bands."""

    def __init__(self, inner: InferenceHandler, wrong: WrongHours) -> None:
        """Answer as `inner` does, but for the bands of the trained model."""
        self.__dict__.update(inner.__dict__)
        self._wrong = wrong

    def decide(self, state: InferenceState, *, overdue: bool) -> tuple[NewEvent, ...]:
        """Return the predictions to publish, bands those of another hour."""
        return tuple(self._shuffled(new) for new in super().decide(state, overdue=overdue))

    def _shuffled(self, new: NewEvent) -> NewEvent:
        data, model = new.data, self._models.rates
        if not isinstance(data, PredictionDemand) or not data.bands or model is None:
            return new
        band = data.bands[0]
        step = round((band.end_time_seconds - band.horizon_seconds) / STEP_SECONDS)
        return replace(new, data=data.model_copy(update={"bands": self._wrong.bands(step, model)}))


def deranged(count: int, rng: Random) -> Sequence[int]:
    """Return an order of `count` places in which none keeps its own; a single one has to."""
    places = list(range(count))
    while count > 1 and any(place == number for number, place in enumerate(places)):
        rng.shuffle(places)
    return places


def wrong_hours_of(engine: Engine, trial: Trial) -> WrongHours:
    """Return the shuffled forecasts of a trial whose world is about to begin."""
    start = engine.now
    steps = math.ceil((trial.world.warm_up + trial.world.length) / STEP_SECONDS) + 1

    def courses() -> dict[str, Floats]:
        pasts = history_of(trial)
        traffics = {key: _traffic_of(engine, key) for key in pasts}
        return {
            f"service/{key}": np.concatenate((pasts[key], _came(traffic, start, steps)))
            for key, traffic in traffics.items()
            if traffic is not None
        }

    return WrongHours(courses, int(start // STEP_SECONDS), steps, trial.seed)


def _traffic_of(engine: Engine, key: str) -> Recorded | None:
    namespace, name = key.split("/")
    service = engine.store.find("services", namespace, name)
    text = service.annotations.get(TRAFFIC, "") if isinstance(service, ObjectRecord) else ""
    traffic = read_traffic(text) if text else None
    return traffic if isinstance(traffic, Recorded) else None


def _came(traffic: Recorded, start: float, steps: int) -> Floats:
    """Return the requests a second of each step from the start on."""
    edges = (start + np.arange(steps + 1) * STEP_SECONDS).tolist()
    counts = [traffic.requests(begin, end, start, _no_draw) for begin, end in pairwise(edges)]
    return np.array(counts) / STEP_SECONDS


def _no_draw(number: int) -> float:
    raise AssertionError(f"recorded rates draw nothing ({number})")
