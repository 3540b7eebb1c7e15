"""Scales every Deployment with traffic for the demand that somebody forecasts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from random import Random

import numpy as np

from inputs.quantities import parse_millicores
from lab.experiments.arms import ScalingAhead
from lab.rate_worlds.rate_sets import Floats
from lab.rate_worlds.scaling_ahead.crane import CraneForecast
from lab.rate_worlds.scaling_ahead.forecasts import Forecast, Shuffled, Truth
from twin.port.engine import ApiError, Engine
from twin.port.files import Recorded, read_traffic
from twin.port.objects import TRAFFIC, ObjectRecord, read_request_settings

SYNC_SECONDS = 30.0
"""Of the controller; EffectiveHPA's own metric is read as often as the HPA syncs, every 15 s."""
LEAST_HISTORY_STEPS = 2 * 288
_SYNC = "experiments.scaling_ahead"


class ScalesAhead:
    """Raises the fewest replicas of each HPA to what the forecast needs; without an HPA it sets the replicas."""

    def __init__(
        self,
        engine: Engine,
        scaling: ScalingAhead,
        history: Mapping[str, Floats],
        seed: int,
    ) -> None:
        """Follow an engine that has not begun to play.

        Args:
            engine: the simulated cluster.
            scaling: what is forecast, and what it is used for.
            history: by Service (`<namespace>/<name>`) its requests a second in steps of five minutes until the start.
            seed: of the trial.
        """
        self._engine, self._scaling, self._history, self._seed = engine, scaling, history, seed
        self._start = engine.now
        self._demands: dict[str, tuple[Forecast, float] | None] = {}
        self._least: dict[str, int] = {}  # of each HPA, as it was created
        engine.clock.handle(_SYNC, self._sync)
        engine.clock.after(SYNC_SECONDS, _SYNC)

    def _sync(self) -> None:
        for service in list(self._engine.store.records("services")):
            self._scale(service)
        self._engine.clock.after(SYNC_SECONDS, _SYNC)

    def _scale(self, service: object) -> None:
        assert isinstance(service, ObjectRecord)
        names = [str(owner["name"]) for owner in service.owners if owner["kind"] == "Deployment"]
        demand = self._demand_of(service)
        if demand is None or not names:
            return
        forecast, cpu_seconds = demand
        deployment = self._engine.store.find("deployments", service.namespace, names[0])
        rate = forecast.highest(self._engine.now, self._scaling.window_seconds)
        if rate is None or not isinstance(deployment, ObjectRecord):
            return
        used = cores_of(deployment) * self._scaling.cpu_percent / 100.0
        self._write(service.namespace, names[0], math.ceil(rate * cpu_seconds / used))

    def _write(self, namespace: str, name: str, needed: int) -> None:
        store = self._engine.store
        hpa = store.find("horizontalpodautoscalers", namespace, name)
        resource, field, value = "deployments", "replicas", max(1, needed)
        if isinstance(hpa, ObjectRecord):
            spec = hpa.body["spec"]
            least = self._least.setdefault(f"{namespace}/{name}", int(spec.get("minReplicas", 1)))
            resource, field = "horizontalpodautoscalers", "minReplicas"
            value = min(max(least, needed), int(spec["maxReplicas"]))
        obj = store.get(resource, namespace, name)
        if obj["spec"].get(field) != value:
            with suppress(ApiError):  # somebody else wrote within the moment: the next sync does it
                store.replace(
                    resource, namespace, name, {**obj, "spec": {**obj["spec"], field: value}}
                )

    def _demand_of(self, service: ObjectRecord) -> tuple[Forecast, float] | None:
        """Return a Service's forecast and the CPU seconds of a request; read once, for a day of rates is long."""
        key = f"{service.namespace}/{service.name}"
        if key not in self._demands:
            settings = read_request_settings(service.annotations)
            forecast = self._new_forecast(key, service.annotations.get(TRAFFIC, ""))
            known = (
                None if settings is None or forecast is None else (forecast, settings.cpu_seconds)
            )
            self._demands[key] = known
        return self._demands[key]

    def _new_forecast(self, key: str, text: str) -> Forecast | None:
        traffic = read_traffic(text) if text else None
        if not isinstance(traffic, Recorded):
            return None
        rng = Random(f"{self._seed}/scaling-ahead/{key}")
        forecast: Forecast
        if self._scaling.forecast == "truth":
            forecast = Truth(traffic, self._start)
        else:
            past = self._history.get(key, np.zeros(0))
            if len(past) < LEAST_HISTORY_STEPS:  # Crane refuses less than 48 hours
                return None
            forecast = CraneForecast(past, traffic, self._start, rng)
        return Shuffled(forecast, rng) if self._scaling.shuffled else forecast


def cores_of(deployment: ObjectRecord) -> float:
    """Return the CPU that a replica asks for."""
    containers = deployment.body["spec"]["template"]["spec"]["containers"]
    asked = [one.get("resources", {}).get("requests", {}).get("cpu", "0") for one in containers]
    return math.fsum(parse_millicores(cpu) for cpu in asked) / 1_000.0
