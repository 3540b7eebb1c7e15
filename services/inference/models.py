"""Which models predict: loaded, checked, and told apart by what they need."""

from __future__ import annotations

from dataclasses import dataclass

from bus.errors import ConfigError, InputError
from features.baseline import MODEL_ID
from features.history import FEATURE_SETS
from services.inference.formula import BaselineFormula
from services.inference.predictor import Predictor, Registry
from services.inference.settings import InferenceSettings
from services.inference.trained_demand import DEMAND_CATALOGUE, TrainedDemand
from services.inference.trained_risk import TrainedRisk
from services.model_directory import FeatureCatalogue, check_features, read_model
from services.model_folders import folder_of

MODELS: Registry = {MODEL_ID: BaselineFormula}
"""Formulas by id; trained models are found by name or folder."""
CATALOGUES = DEMAND_CATALOGUE | {
    one.name: FeatureCatalogue(one.version, {each.name: each.unit for each in one.features})
    for one in FEATURE_SETS.values()
}
"""Every feature set that this code computes."""
Trained = TrainedRisk | TrainedDemand


@dataclass(frozen=True, slots=True)
class Models:
    """What inference runs."""

    formula: Predictor
    """Predicts what no trained model does."""
    risk: TrainedRisk | None = None
    demand: TrainedDemand | None = None
    shadows: tuple[Trained, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """Every model in use: the active ones, then the shadows."""
        active = [
            None if one is None else one.manifest.model_id for one in (self.risk, self.demand)
        ]
        formula = [] if all(active) else [self.formula.model_id]
        shadows = [one.manifest.model_id for one in self.shadows]
        return tuple(dict.fromkeys([*formula, *(one for one in active if one), *shadows]))

    @property
    def needs_history(self) -> bool:
        """Whether any model reads the history of attempts."""
        return any(isinstance(one, TrainedRisk) for one in (self.risk, *self.shadows))

    @property
    def needs_usage(self) -> bool:
        """Whether any model reads windows of use."""
        return any(isinstance(one, TrainedDemand) for one in (self.demand, *self.shadows))


def load(settings: InferenceSettings, registry: Registry = MODELS) -> Models:
    """Return the models that the settings name.

    Raises:
        ConfigError: a name that is no model, or the wrong kind of one.
        InputError: a model directory that cannot be used.
    """
    formula_id = settings.model if settings.model in registry else MODEL_ID
    formula = registry[formula_id](
        horizon_seconds=settings.horizon_seconds, use_measured=settings.use_measured
    )
    risk = demand = None
    if settings.model not in registry:
        risk = _risk(settings, "inference.model", settings.model, registry)
    if settings.demand_model:
        field = "inference.demand_model"
        found = _trained(settings, field, settings.demand_model, registry)
        if not isinstance(found, TrainedDemand):
            raise ConfigError(field, settings.demand_model, "name a model of kind demand")
        demand = found
    # An active model needs no shadow of itself; slots are numbered without it.
    active = {one.manifest.model_id for one in (risk, demand) if one is not None}
    found_shadows = (
        _trained(settings, "inference.shadow_models", name, registry)
        for name in settings.shadow_models
    )
    shadows = tuple(one for one in found_shadows if one.manifest.model_id not in active)
    return Models(formula, risk, demand, shadows)


def _risk(settings: InferenceSettings, field: str, name: str, registry: Registry) -> TrainedRisk:
    found = _trained(settings, field, name, registry)
    if not isinstance(found, TrainedRisk):
        raise ConfigError(field, name, "name a model of kind risk")
    return found


def _trained(settings: InferenceSettings, field: str, name: str, registry: Registry) -> Trained:
    try:
        folder = folder_of(name)
    except InputError as error:
        formulas = ", ".join(sorted(registry))
        raise ConfigError(field, name, f"use one of: {formulas}; or {error.remedy}") from error
    directory = read_model(folder)
    if directory.manifest.kind == "demand":
        made: Trained = TrainedDemand(directory)
    else:
        made = TrainedRisk(directory, settings.model_horizon_seconds)
    # After the features: one that does not exist live is named by its own name.
    check_features(directory.manifest, CATALOGUES)
    return made
