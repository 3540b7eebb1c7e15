"""What the source of the observations foresees itself: `given/1`, for traces that are played.

Risk and demand of a node are those of the row; where it says none they are the baseline formula's. `given-or-live/1`
takes the greater risk of both, as the predecessor did with `preserve_live_sla_risk`.
"""

from __future__ import annotations

from dataclasses import dataclass

from features.live.columns import FeatureColumns
from schemas.numbers import rounded
from services.inference.formula import BaselineFormula
from services.inference.predictor import Explanation, FeatureContribution, Forecast

GIVEN_ID = "given/1"
"""What the source of the observations says of risk and demand; else the formula."""
GIVEN_OR_LIVE_ID = "given-or-live/1"
"""The same, and no less risk than the formula sees: the predecessor's `preserve_live_sla_risk`."""
RISK, DEMAND = "given_risk_ratio", "given_demand_ratio"


@dataclass(frozen=True, slots=True)
class GivenForecast:
    """Risk and demand as they are given."""

    horizon_seconds: float
    use_measured: bool = False
    keeps_live: bool = False
    """Whether a node's risk is at least the formula's."""

    @property
    def model_id(self) -> str:
        """`given/1`, or `given-or-live/1`."""
        return GIVEN_OR_LIVE_ID if self.keeps_live else GIVEN_ID

    @property
    def features(self) -> tuple[str, ...]:
        """What is given, and what the formula reads."""
        return (RISK, DEMAND, *self._formula.features)

    @property
    def signals(self) -> tuple[str, ...]:
        """Those of the formula."""
        return self._formula.signals

    @property
    def quantile(self) -> float | None:
        """None: a point estimate."""
        return None

    @property
    def calibrated(self) -> bool:
        """False: nobody here has checked them."""
        return False

    def predict(self, features: FeatureColumns) -> Forecast:
        """Return risk and demand of every row, rounded as they travel."""
        live = self._formula.predict(features)
        risks = zip(features.columns[RISK], live.risk_ratio, strict=True)
        demands = zip(features.columns[DEMAND], live.demand_ratio, strict=True)
        return Forecast(
            risk_ratio=tuple(rounded(self._risk(given, own)) for given, own in risks),
            demand_ratio=tuple(rounded(own if given is None else given) for given, own in demands),
        )

    def explain(self, features: FeatureColumns, row: int) -> Explanation:
        """Return what was given, or the formula's terms where they count."""
        live, values = self._formula.explain(features, row), features.row(row)
        own = self._formula.predict(features).risk_ratio[row]
        risk, demand = values[RISK], values[DEMAND]
        said = risk is not None and self._risk(risk, own) == risk
        return Explanation(
            risk=(FeatureContribution(RISK, risk, float(risk or 0.0)),) if said else live.risk,
            demand=live.demand
            if demand is None
            else (FeatureContribution(DEMAND, demand, float(demand)),),
        )

    @property
    def _formula(self) -> BaselineFormula:
        return BaselineFormula(self.horizon_seconds, self.use_measured)

    def _risk(self, given: float | None, live: float) -> float:
        if given is None:
            return live
        return max(given, live) if self.keeps_live else given
