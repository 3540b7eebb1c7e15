"""Models as the log tells of them: what each is, how it did, and shadows beside the active one. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from projections.promotion.text import WHY
from schemas.envelope import Event
from schemas.foresight import OutcomeForesight
from schemas.outcome import OutcomeForecast, RunningScore
from schemas.prediction import Prediction, PredictionDemand, PredictionRisk, PredictionShadow
from schemas.promotion import OutcomeModels
from services.dashboard.cycle_json import Json

MODEL_SUBJECTS = (
    "prediction.risk",
    "prediction.demand",
    "prediction.shadow.*",
    "outcome.forecast",
    "outcome.models",
    "outcome.foresight",
)
LATELY = 20
"""Scored cycles that are lately, for drift."""
MOST_BESIDE = 20
"""Nodes shown with both risks, those on which the models differ most."""


@dataclass(slots=True)
class ModelCard:
    """One model in one use."""

    model_id: str
    use: str
    """`risk`, `demand`, `bands`, or `shadow 1` and so on."""
    newest: Prediction | None = None
    results: int = 0
    skipped: int = 0
    scores: list[tuple[float, int, float]] = field(default_factory=list)
    """Cluster time, cycle, and Brier score of a risk or mean absolute error of a demand, of each scored cycle."""
    running: Json | None = None
    """Of everything scored so far."""
    bands: dict[float, tuple[Json, Json | None]] = field(default_factory=dict)
    """By horizon in seconds: newest step, and so far."""
    insides: dict[float, list[tuple[int, int]]] = field(default_factory=dict)
    """By horizon: values inside their band and all, of each scored step."""

    def as_json(self) -> Json:
        """Return the card."""
        one = self.newest
        values = [value for _, _, value in self.scores]
        return {
            "model_id": self.model_id,
            "use": self.use,
            "results": self.results,
            "skipped": self.skipped,
            "card": None if one is None else _card(one),
            "score_name": "mean absolute error" if self.use == "demand" else "Brier score",
            "scores": {
                "at": [at for at, _, _ in self.scores],
                "values": values,
            },
            "lately": fmean(values[-LATELY:]) if values else None,
            "so_far": fmean(values) if values else None,
            "running": self.running,
            "bands": [
                {
                    "horizon_seconds": horizon,
                    "newest": newest,
                    "so_far": so_far,
                    "lately_inside_ratio": _share(self.insides[horizon][-LATELY:]),
                }
                for horizon, (newest, so_far) in sorted(self.bands.items())
            ],
        }


@dataclass(slots=True)
class ModelBook:
    """Every model that predicted, by id and use."""

    cards: dict[tuple[str, str], ModelCard] = field(default_factory=dict)
    risk: PredictionRisk | None = None
    shadows: dict[int, tuple[PredictionShadow, PredictionRisk | None]] = field(default_factory=dict)
    """Newest prediction of each slot, with the active one of its cycle."""
    judged: list[OutcomeModels] = field(default_factory=list)
    foresight: OutcomeForesight | None = None

    def add(self, event: Event[Any]) -> None:
        """Take in one event."""
        match event.data:
            case PredictionRisk() as data:
                self.risk = data
                self._note(data, "risk")
            case PredictionDemand() as data:
                self._note(data, "demand")
            case PredictionShadow() as data:
                beside = self.risk if self.risk and self.risk.cycle == data.cycle else None
                self.shadows[data.slot] = (data, beside)
                self._note(data, f"shadow {data.slot}")
            case OutcomeForecast() as data:
                self._score(data)
            case OutcomeModels() as data:
                self.judged.append(data)
            case OutcomeForesight() as data:
                self.foresight = data
            case _:
                pass

    def as_json(self) -> Json:
        """Return cards, judgements and shadows beside the active model."""
        newest = self.judged[-1] if self.judged else None
        return {
            "models": [card.as_json() for card in self.cards.values()],
            "judged": None
            if newest is None
            else {
                "driving": newest.driving,
                "window_seconds": newest.window_seconds,
                "confidence_ratio": newest.confidence_ratio,
                "models": [
                    one.model_dump(mode="json") | {"why": WHY[one.cause]} for one in newest.models
                ],
                "history": [
                    {
                        "at": one.cluster_time_seconds,
                        "cycle": one.cycle,
                        "driving": one.driving,
                        "skill": {model.model_id: model.skill for model in one.models},
                    }
                    for one in self.judged
                ],
            },
            "foresight": None if self.foresight is None else self.foresight.model_dump(mode="json"),
            "beside": [
                one
                for _, (shadow, active) in sorted(self.shadows.items())
                if (one := _beside(shadow, active)) is not None
            ],
        }

    def _card(self, model_id: str, use: str) -> ModelCard:
        return self.cards.setdefault((model_id, use), ModelCard(model_id, use))

    def _note(self, data: Prediction, use: str) -> None:
        card = self._card(data.model_id, use)
        card.newest = data
        if data.status == "skipped":
            card.skipped += 1
        else:
            card.results += 1

    def _score(self, data: OutcomeForecast) -> None:
        if data.bands is not None:
            card = self._card(data.model_id, "bands")
            so_far = data.bands_so_far
            card.bands[data.horizon_seconds] = (
                data.bands.model_dump(mode="json"),
                None if so_far is None else so_far.model_dump(mode="json"),
            )
            card.insides.setdefault(data.horizon_seconds, []).append(
                (data.bands.inside, data.bands.targets)
            )
        slot = f"shadow {data.slot}" if data.slot else ""
        if data.risk is not None:
            card = self._card(data.model_id, slot or "risk")
            card.running = _plain(data.risk.running)
            if data.risk.brier is not None:
                card.scores.append((data.cluster_time_seconds, data.cycle, data.risk.brier))
        if data.demand is not None:
            card = self._card(data.demand_model_id or data.model_id, slot or "demand")
            card.running = _plain(data.demand.running)
            error = data.demand.mean_absolute_error_ratio
            if error is not None:
                card.scores.append((data.cluster_time_seconds, data.cycle, error))


def _card(one: Prediction) -> Json:
    return {
        "status": one.status,
        "reason": one.reason,
        "horizon_seconds": one.horizon_seconds,
        "quantile": one.quantile,
        "calibrated": one.calibrated,
        "alarm_ratio": one.alarm_ratio,
        "foresees": one.failure if not isinstance(one, PredictionDemand) else one.demand,
        "features_hash": one.features_hash,
        "sources": [source.model_dump(mode="json") for source in one.feature_sources],
        "cycle": one.cycle,
    }


def _plain(score: RunningScore | None) -> Json | None:
    return None if score is None else score.model_dump(mode="json")


def _share(steps: list[tuple[int, int]]) -> float | None:
    """Return which share of the values lay inside; None without any."""
    total = sum(targets for _, targets in steps)
    return sum(inside for inside, _ in steps) / total if total else None


def _beside(shadow: PredictionShadow, active: PredictionRisk | None) -> Json | None:
    """Return both risks of the nodes on which a shadow differs most from the active model, and both alarms."""
    if active is None or shadow.risk_table is None:
        return None
    known = dict(zip(active.nodes.ids, active.nodes.risk_ratio, strict=True))
    pairs = [
        (name, known[name], risk)
        for name, risk in zip(shadow.risk_table.ids, shadow.risk_table.risk_ratio, strict=True)
        if name in known
    ]
    return {
        "slot": shadow.slot,
        "model_id": shadow.model_id,
        "active_id": active.model_id,
        "cycle": shadow.cycle,
        "nodes": len(pairs),
        "alarms": sum(_warns(risk, shadow.alarm_ratio) for _, _, risk in pairs),
        "active_alarms": sum(_warns(risk, active.alarm_ratio) for _, risk, _ in pairs),
        "both": sum(
            _warns(mine, active.alarm_ratio) and _warns(other, shadow.alarm_ratio)
            for _, mine, other in pairs
        ),
        "rows": [
            {"node": name, "active": mine, "shadow": other}
            for name, mine, other in sorted(pairs, key=lambda row: -abs(row[1] - row[2]))
        ][:MOST_BESIDE],
    }


def _warns(risk: float, alarm_ratio: float | None) -> bool:
    return alarm_ratio is not None and risk >= alarm_ratio
