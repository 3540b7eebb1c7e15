"""Settings of inference."""

from __future__ import annotations

from typing import Any

from pydantic import Field, field_validator

from features.baseline import MODEL_ID
from features.live.capacity.windows import Objective
from features.live.size_rules import SizeRule
from schemas.manifest import ModelManifest
from schemas.model import DataModel
from schemas.prediction import SHADOW_SLOTS
from schemas.view import OPEN_LIMIT
from schemas.work import LATENCY_BOUNDS
from services.inference.given import GIVEN_ID, GIVEN_OR_LIVE_ID
from services.inference.workloads import FollowedParts
from services.model_folders import folder_of, model_id_of, read_manifest


class InferenceSettings(DataModel):
    """Which models predict, which run beside them as shadows, and how much is explained."""

    model: str = MODEL_ID
    """The active model of risk: `seed-formula/1`, the name of a shipped model, or the folder of one."""
    demand_model: str = ""
    """The active model of demand: a trained one, named as above. Unset: the formula."""
    model_horizon_seconds: float | None = Field(default=None, gt=0)
    """Which of the horizons of a trained risk model is predicted; unset: 900, or else its first."""
    shadow_models: tuple[str, ...] = Field(default=("small-risk",), max_length=SHADOW_SLOTS)
    """Models that predict beside the active ones and drive nothing, named as above."""
    shadow_cycles: int = Field(default=5, ge=1)
    """A shadow model predicts every so many cycles: it drives nothing, and looks minutes ahead."""
    shadow_targets: int = Field(default=100, ge=1)
    """Nodes that a shadow model's prediction lists; in a larger cluster an evenly spaced sample.

    Their scores need no more, and every cycle is stored.
    """
    use_measured: bool = False
    """Formula: read measured load (Metrics Server) where there is any, instead of requests.

    Changes the model id.
    """
    keep_live_risk: bool = False
    """Whether under a trained model a node's risk is no less than what the formula sees now: the predecessor's
    `preserve_live_sla_risk`, p_fail = max(live, predicted). Changes the model id.
    """
    demand_bands: bool = True
    """Whether each minute bands of demand are published for 5, 15, 30 and 60 minutes ahead: requests of each
    Service, and cores requested on machines of one size and on all.
    """
    rate_model: str = "rates-ahead"
    """Where bands of demand are published and the history of workloads is kept: the model that makes them, at each
    five minutes' end, by name or folder. Empty: the simple rules of each minute.
    """
    workload_history: bool = True
    """Whether fourteen days of each workload are kept: requests, CPU, memory, and cores requested by machine."""
    replica_capacity: bool = True
    """Whether it is learned how many requests a second one replica bears within the objective."""
    pod_sizes: bool = False
    """Whether it is said, at each five minutes' end, what the pods of each workload will use at most; it needs the
    history.
    """
    size_rule: SizeRule = "pooled"
    """By which rule cores are said; `pooled`: what a machine's pods want together (features/live/size_rules.py)."""
    slo_latency_seconds: float = 0.5
    """The objective of Services: requests are answered within so much (a bound of `schemas.work.LATENCY_BOUNDS`),"""
    slo_bad_ratio: float = Field(default=0.01, ge=0, le=1)
    """and at most this share of them fails or is later."""
    horizon_seconds: float = Field(default=60.0, gt=0)
    """Cluster seconds after which a prediction of the formula is scored; the baseline names none.

    One minute lets a short run see scores. A trained model brings its own.
    """
    explain_risk_ratio: float = Field(default=0.50, ge=0)
    """Formula: risk from which a target is explained, the lowest action threshold of agent A. A trained
    model brings its own.
    """
    explain_demand_ratio: float = Field(default=0.45, ge=0)
    """Formula: demand below which a target is explained, the highest action threshold of agent B."""
    explain_targets: int = Field(default=20, ge=0, le=20)
    """Targets explained per cycle and prediction at most.

    Explanations cost time with trained models.
    """
    explain_shadow_targets: int = Field(default=0, ge=0, le=20)
    """The same for shadow models."""

    @field_validator("slo_latency_seconds")
    @classmethod
    def _check_bound(cls, seconds: float) -> float:
        if seconds not in LATENCY_BOUNDS:
            raise ValueError(f"use one of {', '.join(f'{bound:g}' for bound in LATENCY_BOUNDS)}")
        return seconds

    def followed_parts(self) -> FollowedParts:
        """Return what is followed of workloads."""
        objective = Objective(
            latency_seconds=self.slo_latency_seconds, bad_ratio=self.slo_bad_ratio
        )
        capacity = objective if self.replica_capacity else None
        sizes = self.size_rule if self.pod_sizes and self.workload_history else None
        return FollowedParts(self.workload_history, capacity, sizes)

    @property
    def used_rate_model(self) -> str:
        """The model of rates that predicts; empty where none does."""
        return self.rate_model if self.demand_bands and self.workload_history else ""

    def manifests(self) -> list[ModelManifest]:
        """Return the manifests of every trained model that is named.

        Raises:
            InputError: one cannot be used.
        """
        names = dict.fromkeys(
            (self.model, self.demand_model, self.used_rate_model, *self.shadow_models)
        )
        formulas = ("", MODEL_ID, GIVEN_ID, GIVEN_OR_LIVE_ID)
        return [read_manifest(folder_of(name)) for name in names if name not in formulas]

    def announcement(self) -> dict[str, Any]:
        """Return everything that can change a result; models by id, never by folder."""
        named = {
            "model": model_id_of(self.model),
            "demand_model": model_id_of(self.demand_model),
            "rate_model": model_id_of(self.used_rate_model),
            "shadow_models": [model_id_of(model) for model in self.shadow_models],
        }
        return {**self.model_dump(mode="json"), **named, "open_limit": OPEN_LIMIT}
