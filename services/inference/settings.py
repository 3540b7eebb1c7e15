"""Settings of inference."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from schemas.model import Part
from schemas.view import OPEN_LIMIT


class InferenceSettings(Part):
    """Which model predicts, and how much it explains."""

    model: str = "seed-formula/1"
    """Model id; `seed-formula/1` is the seed's formula. Trained models have ids of their own."""
    use_measured: bool = False
    """Formula: read measured load (Metrics Server) where there is any, instead of requests.

    Changes the model id.
    """
    horizon_seconds: float = Field(default=60.0, gt=0)
    """Cluster seconds after which a prediction of the formula is scored; the seed names none.

    One minute lets a short run see scores. A trained model brings its own.
    """
    explain_risk_ratio: float = Field(default=0.50, ge=0)
    """Risk from which a target is explained: the lowest action threshold of agent A."""
    explain_demand_ratio: float = Field(default=0.45, ge=0)
    """Demand below which a target is explained: the highest action threshold of agent B."""
    explain_targets: int = Field(default=20, ge=0, le=20)
    """Targets explained per cycle and prediction at most.

    Explanations cost time with trained models.
    """

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result."""
        return {**self.model_dump(mode="json"), "open_limit": OPEN_LIMIT}
