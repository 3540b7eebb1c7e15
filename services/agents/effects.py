"""Expected effects: terms by component of the outcome score, with the interval that chance leaves."""

from __future__ import annotations

import math
from collections.abc import Mapping

from schemas.effect import Effect
from schemas.numbers import rounded
from services.agents.appraisal import Band
from services.agents.value_settings import ValueSettings

HOUR, MINUTE = 3_600.0, 60.0
Z_90 = 1.2816
"""Quantile of the normal distribution that one value in ten exceeds."""


def effect_of(
    terms: Mapping[str, float], horizon_seconds: float, settings: ValueSettings, *, spread: float
) -> Effect:
    """Return an effect; `spread` is the standard deviation of its net, in money."""
    parts = {name: rounded(amount) for name, amount in terms.items() if amount != 0.0}
    net = math.fsum(parts.values())
    return Effect(
        horizon_seconds=horizon_seconds,
        terms=parts,
        net=rounded(net),
        low=rounded(net - Z_90 * spread),
        high=rounded(net + Z_90 * spread),
        per_hour=rounded(net * HOUR / horizon_seconds),
        currency=settings.currency,
    )


def chance_above(band: Band, value: float) -> float:
    """Return the chance that a value is exceeded: half a normal distribution on each side of the middle."""
    side = band.high - band.middle if value >= band.middle else band.middle - band.low
    if side <= 0.0:
        return 1.0 if value < band.middle else 0.0
    return 0.5 * math.erfc((value - band.middle) / side * Z_90 / math.sqrt(2.0))


def share_with_spread(hits: float, tries: float) -> tuple[float, float]:
    """Return a share and its standard deviation, of a beta distribution with so many hits of so many tries."""
    share = hits / tries
    return share, math.sqrt(share * (1.0 - share) / (tries + 1.0))
