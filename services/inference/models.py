"""Which predictors exist: constructors by model id."""

from __future__ import annotations

from bus.errors import ConfigError
from services.inference.formula import MODEL_ID, SeedFormula
from services.inference.predictor import Predictor, Registry
from services.inference.settings import InferenceSettings

MODELS: Registry = {MODEL_ID: SeedFormula}
"""Model id to constructor; a trained model adds one row."""


def load(settings: InferenceSettings, registry: Registry = MODELS) -> Predictor:
    """Return the predictor that the settings name.

    Raises:
        ConfigError: no such model.
    """
    factory = registry.get(settings.model)
    if factory is None:
        known = ", ".join(sorted(registry))
        raise ConfigError("inference.model", settings.model, f"use one of: {known}")
    return factory(horizon_seconds=settings.horizon_seconds, use_measured=settings.use_measured)
