"""Scores of bands of demand for people."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.band_score import BandScore, band_text


def bands_text(scores: Mapping[tuple[str, float], BandScore]) -> str:
    """Return the scores by model and horizon in seconds, the model with most targets and the nearest horizon first."""
    targets: dict[str, int] = {}
    for (model, _), score in scores.items():
        targets[model] = targets.get(model, 0) + score.targets
    by_model = (
        f"{model}: " + "; ".join(
            band_text(horizon, scores[of, horizon]) for of, horizon in sorted(scores) if of == model
        )
        for model in sorted(targets, key=lambda model: (-targets[model], model))
    )  # fmt: skip
    return ". ".join(by_model)
