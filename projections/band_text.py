"""Scores of bands of demand for people."""

from __future__ import annotations

from collections.abc import Mapping

from projections.figures import duration, percent, signed_score
from schemas.outcome import BandScore


def band_text(horizon_seconds: float, score: BandScore) -> str:
    """Return one horizon's score: how much lay within the band, and the skill against the simple rule."""
    inside = percent(score.inside / score.targets) if score.targets else "nothing"
    skill = "" if score.skill is None else f", skill {signed_score(score.skill)} against last_value"
    return f"{duration(horizon_seconds)} ahead {inside} of {score.targets} inside{skill}"


def bands_text(scores: Mapping[float, BandScore]) -> str:
    """Return the scores by horizon in seconds, the nearest first."""
    return "; ".join(band_text(horizon, scores[horizon]) for horizon in sorted(scores))
