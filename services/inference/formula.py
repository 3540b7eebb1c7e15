"""The baseline formula as a named predictor: `seed-formula/1`.

Per node:

    load   = 0.55 * cpu + 0.35 * memory
    health = 0.95 if any pod is unhealthy, else 0.7 if any pod restarted, else 0
    risk   = max(health, load)
    demand = load

cpu and memory are requests / allocatable. With `use_measured` they are the measured ratios where
there are any, as the baseline did with Prometheus set; the model id then says so. The numbers are
scores, not probabilities, and the formula has no horizon of its own: the one it carries only says
when a prediction is scored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from features.baseline import (
    CPU_WEIGHT,
    MEASURED_ID,
    MEMORY_WEIGHT,
    MODEL_ID,
    RESTARTED_RISK,
    UNHEALTHY_RISK,
)
from features.live.columns import Column, FeatureColumns, Number
from schemas.numbers import rounded
from services.inference.predictor import Explanation, FeatureContribution, Forecast


@dataclass(frozen=True, slots=True)
class BaselineFormula:
    """The baseline's risk and demand."""

    horizon_seconds: float
    use_measured: bool = False

    @property
    def model_id(self) -> str:
        """`seed-formula/1`, or `seed-formula-measured/1` when it reads measured load."""
        return MEASURED_ID if self.use_measured else MODEL_ID

    @property
    def features(self) -> tuple[str, ...]:
        """Load and health of the node."""
        load = ("cpu_requested_ratio", "memory_requested_ratio")
        measured = ("cpu_used_ratio", "memory_used_ratio") if self.use_measured else ()
        return (*load, *measured, "unhealthy_pods", "restarted_pods")

    @property
    def signals(self) -> tuple[str, ...]:
        """Requests for the load and pods for the health."""
        return ("node_requests", "pods")

    @property
    def quantile(self) -> float | None:
        """None: a point estimate."""
        return None

    @property
    def calibrated(self) -> bool:
        """False: scores, not probabilities."""
        return False

    def predict(self, features: FeatureColumns) -> Forecast:
        """Return risk and demand of every row, rounded as they travel."""
        loads = self._loads(features.columns)
        health = [
            UNHEALTHY_RISK if unhealthy else RESTARTED_RISK if restarted else 0.0
            for unhealthy, restarted in zip(
                features.columns["unhealthy_pods"], features.columns["restarted_pods"], strict=True
            )
        ]
        return Forecast(
            risk_ratio=tuple(rounded(max(pair)) for pair in zip(health, loads, strict=True)),
            demand_ratio=tuple(rounded(load) for load in loads),
        )

    def _loads(self, columns: Mapping[str, Column]) -> list[float]:
        """Return each row's load; the same terms as in `explain`, without naming them."""
        cpu, memory = (self._shares(columns, resource) for resource in ("cpu", "memory"))
        return [
            CPU_WEIGHT * cpu_share + MEMORY_WEIGHT * other
            for cpu_share, other in zip(cpu, memory, strict=True)
        ]

    def _shares(self, columns: Mapping[str, Column], resource: str) -> list[float]:
        shares = columns[f"{resource}_requested_ratio"]
        if self.use_measured:
            pairs = zip(columns[f"{resource}_used_ratio"], shares, strict=True)
            shares = tuple(requested if used is None else used for used, requested in pairs)
        return [min(1.0, float(share or 0.0)) for share in shares]

    def explain(self, features: FeatureColumns, row: int) -> Explanation:
        """Return the formula's own terms.

        Of health and load only the greater counts towards risk.
        """
        values = features.row(row)
        load, health = self._load_terms(values), _health(values)
        if health.contribution >= _load(load):
            risk = (health, *(FeatureContribution(term.feature, term.value, 0.0) for term in load))
        else:
            risk = (*load, FeatureContribution(health.feature, health.value, 0.0))
        return Explanation(risk=risk, demand=load)

    def _load_terms(
        self, values: dict[str, Number]
    ) -> tuple[FeatureContribution, FeatureContribution]:
        return (
            self._load_term(values, "cpu", CPU_WEIGHT),
            self._load_term(values, "memory", MEMORY_WEIGHT),
        )

    def _load_term(
        self, values: dict[str, Number], resource: str, weight: float
    ) -> FeatureContribution:
        measured = f"{resource}_used_ratio"
        if self.use_measured and values[measured] is not None:
            return _weighted_term(measured, values[measured], weight)
        requested = f"{resource}_requested_ratio"
        return _weighted_term(requested, values[requested], weight)


def _weighted_term(feature: str, value: Number, weight: float) -> FeatureContribution:
    return FeatureContribution(feature, value, weight * min(1.0, float(value or 0.0)))


def _load(terms: tuple[FeatureContribution, FeatureContribution]) -> float:
    """Return cpu part + memory part, added in that order as the baseline does."""
    return terms[0].contribution + terms[1].contribution


def _health(values: dict[str, Number]) -> FeatureContribution:
    if values["unhealthy_pods"]:
        return FeatureContribution("unhealthy_pods", values["unhealthy_pods"], UNHEALTHY_RISK)
    if values["restarted_pods"]:
        return FeatureContribution("restarted_pods", values["restarted_pods"], RESTARTED_RISK)
    return FeatureContribution("unhealthy_pods", values["unhealthy_pods"], 0.0)
