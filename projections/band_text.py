"""Scores of bands of demand for people."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.outcome import BandScore, band_text


def bands_text(scores: Mapping[float, BandScore]) -> str:
    """Return the scores by horizon in seconds, the nearest first."""
    return "; ".join(band_text(horizon, scores[horizon]) for horizon in sorted(scores))
