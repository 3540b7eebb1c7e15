"""Which models predict: loaded, checked, and told apart by what they need."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from bus.errors import ConfigError, InputError
from features.baseline import MODEL_ID
from features.history import FEATURE_SETS
from services.inference.formula import BaselineFormula
from services.inference.given import GIVEN_ID, GIVEN_OR_LIVE_ID, GivenForecast
from services.inference.predictor import Predictor, Registry
from services.inference.rate_model import RateModel
from services.inference.settings import InferenceSettings
from services.inference.trained_demand import DEMAND_CATALOGUE, TrainedDemand
from services.inference.trained_risk import TrainedRisk
from services.model_directory import FeatureCatalogue, check_features, read_model
from services.model_folders import folder_of

MODELS: Registry = {
    MODEL_ID: BaselineFormula,
    GIVEN_ID: GivenForecast,
    GIVEN_OR_LIVE_ID: partial(GivenForecast, keeps_live=True),
}
"""Formulas by id; trained models are found by name or folder."""
WITH_LIVE = "+live"
"""Ends the id of a model whose risk is no less than the formula's."""
CATALOGUES = DEMAND_CATALOGUE | {
    feature_set.name: FeatureCatalogue(
        feature_set.version, {each.name: each.unit for each in feature_set.features}
    )
    for feature_set in FEATURE_SETS.values()
}
"""Every feature set that this code computes."""
Trained = TrainedRisk | TrainedDemand


@dataclass(frozen=True, slots=True)
class Models:
    """Models that inference runs."""

    formula: Predictor
    """Predicts what no trained model does."""
    risk: TrainedRisk | None = None
    demand: TrainedDemand | None = None
    shadows: tuple[Trained, ...] = ()
    rates: RateModel | None = None
    """Makes the bands of demand."""
    keeps_live_risk: bool = False
    """Whether a trained model's risk is no less than the formula's."""

    def risk_id(self, model: TrainedRisk) -> str:
        """Return what an active model's predictions of risk are called."""
        model_id = model.manifest.model_id
        return f"{model_id}{WITH_LIVE}" if self.keeps_live_risk else model_id

    @property
    def ids(self) -> tuple[str, ...]:
        """Every model in use: the active ones, then the shadows."""
        active = [
            None if self.risk is None else self.risk_id(self.risk),
            None if self.demand is None else self.demand.manifest.model_id,
        ]
        formula = [] if all(active) else [self.formula.model_id]
        shadows = [shadow.manifest.model_id for shadow in self.shadows]
        rates = [] if self.rates is None else [self.rates.model_id]
        trained = [model_id for model_id in active if model_id]
        return tuple(dict.fromkeys([*formula, *trained, *rates, *shadows]))

    def shadow(self, model_id: str) -> TrainedRisk | None:
        """Return the shadow model of risk with an id; None where none has it."""
        risks = (shadow for shadow in self.shadows if isinstance(shadow, TrainedRisk))
        return next((shadow for shadow in risks if shadow.manifest.model_id == model_id), None)

    @property
    def needs_history(self) -> bool:
        """Whether any model reads the history of attempts."""
        return any(isinstance(shadow, TrainedRisk) for shadow in (self.risk, *self.shadows))

    @property
    def needs_usage(self) -> bool:
        """Whether any model reads windows of use."""
        return any(isinstance(shadow, TrainedDemand) for shadow in (self.demand, *self.shadows))


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
        trained = _load_trained(settings, field, settings.demand_model, registry)
        if not isinstance(trained, TrainedDemand):
            raise ConfigError(field, settings.demand_model, "name a model of kind demand")
        demand = trained
    # An active model needs no shadow of itself; slots are numbered without it.
    active = {model.manifest.model_id for model in (risk, demand) if model is not None}
    found_shadows = (
        _load_trained(settings, "inference.shadow_models", name, registry)
        for name in settings.shadow_models
    )
    shadows = tuple(shadow for shadow in found_shadows if shadow.manifest.model_id not in active)
    rates = _rates(settings.used_rate_model)
    return Models(formula, risk, demand, shadows, rates, settings.keep_live_risk)


def _rates(name: str) -> RateModel | None:
    try:
        return RateModel(name) if name else None
    except InputError as error:
        remedy = f"{error.remedy}; an empty name takes the simple rules"
        raise ConfigError("inference.rate_model", name, remedy) from error


def _risk(settings: InferenceSettings, field: str, name: str, registry: Registry) -> TrainedRisk:
    trained = _load_trained(settings, field, name, registry)
    if not isinstance(trained, TrainedRisk):
        raise ConfigError(field, name, "name a model of kind risk")
    return trained


def _load_trained(
    settings: InferenceSettings, field: str, name: str, registry: Registry
) -> Trained:
    try:
        folder = folder_of(name)
    except InputError as error:
        formulas = ", ".join(registry)
        raise ConfigError(field, name, f"use one of: {formulas}; or {error.remedy}") from error
    directory = read_model(folder)
    if directory.manifest.kind == "demand":
        made: Trained = TrainedDemand(directory)
    else:
        made = TrainedRisk(directory, settings.model_horizon_seconds)
    # After the features: one that does not exist live is named by its own name.
    check_features(directory.manifest, CATALOGUES)
    return made
