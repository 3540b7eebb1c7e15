"""Online tracking of a series: a mixture of the model with the rules, and the calibration of its bands.

*Mixture*: each speaker (the model first, then the rules) has a mean of its newest losses that fades with time; weights
are exponential in it (Vovk 1990, the aggregating forecaster with forgetting), and quantiles are averaged. Where the
model is worse than a rule, on flat or bursty series, the rule takes over within hours.

*Calibration*: each quantile is moved by so many scales; after every outcome the move takes a small step against the
miss (adaptive conformal inference, Gibbs and Candes 2021, in the form of a quantile tracker, Angelopoulos et al.
2023), so that the share of outcomes below it goes to what it should be whatever the series does.

State is plain arrays over n series; nothing here reads a clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from features.demand.past import QUANTILES
from features.series.quantiles import Floats

AnyFloats = NDArray[np.floating[Any]]

FADING = 0.02
"""Weight of the newest loss: about fifty outcomes are remembered."""
TRUST = 8.0
"""How fast weight falls with the loss: a speaker 10 % worse than the best has exp(-0.8) of its weight."""
STEP = 0.01
"""Scales that a quantile moves at a miss, times how unlikely the miss was."""
MOST_MOVED = 5.0
_LEVELS = np.array(QUANTILES)


def pinball(said: AnyFloats, truth: Floats) -> Floats:
    """Return the mean pinball loss over quantiles: `said` (..., quantiles), `truth` (...)."""
    above = truth[..., None] - said
    loss: Floats = np.maximum(_LEVELS * above, (_LEVELS - 1.0) * above).mean(axis=-1)
    return loss


@dataclass(slots=True)
class Follower:
    """Learnt online state of n series.

    `loss` (n, horizons, speakers), fading, in scales; `weight` (n, horizons) how much was seen, towards 1; `moved`
    (n, horizons, quantiles) in scales.
    """

    loss: Floats
    weight: Floats
    moved: Floats = field(repr=False)

    @classmethod
    def new(cls, series: int, horizons: int, speakers: int) -> Follower:
        """Return a follower that has seen nothing."""
        shape = (series, horizons)
        return cls(
            np.zeros((*shape, speakers)), np.zeros(shape), np.zeros((*shape, len(QUANTILES)))
        )

    def weights(self, speaks: Floats) -> Floats:
        """Return the weight of each speaker (n, horizons, speakers), adding up to 1.

        Args:
            speaks: (n, horizons, speakers) prior weight; 0 for a speaker that is silent.
        """
        seen = np.maximum(self.weight, 1e-9)[..., None]
        loss = self.loss / seen
        least = np.where(speaks > 0, loss, np.inf).min(axis=-1, keepdims=True)
        worse = np.where(self.weight[..., None] > 0, loss / np.maximum(least, 1e-9) - 1.0, 0.0)
        raw = speaks * np.exp(-TRUST * self.weight[..., None] ** 0.5 * np.minimum(worse, 50.0))
        share: Floats = raw / raw.sum(axis=-1, keepdims=True)
        return share

    def bands(self, said: AnyFloats, scale: Floats, speaks: Floats) -> Floats:
        """Return (n, horizons, quantiles): the mixture, moved, never crossing, never below 0.

        Args:
            said: (n, horizons, speakers, quantiles); what a silent speaker says does not count.
            scale: (n, horizons).
            speaks: as in `weights`.
        """
        mixed = (self.weights(speaks)[..., None] * said).sum(axis=-2)
        ends: Floats = np.sort(mixed + self.moved * scale[..., None], axis=-1)
        return np.maximum(ends, 0.0)

    def learn(self, said: AnyFloats, issued: AnyFloats, scale: Floats, truth: Floats) -> None:
        """Take what came of forecasts: NaN in `truth` (n, horizons) is no outcome."""
        known = ~np.isnan(truth)
        came = np.where(known, truth, 0.0)
        lost = pinball(said, came[..., None]) / scale[..., None]
        lost = np.minimum(lost, 100.0)
        fresh = known[..., None] & (self.weight[..., None] == 0)
        self.loss = np.where(
            fresh,
            FADING * lost,
            np.where(known[..., None], (1 - FADING) * self.loss + FADING * lost, self.loss),
        )
        self.weight = np.where(known, (1 - FADING) * self.weight + FADING, self.weight)
        below = came[..., None] < issued
        step = STEP * (_LEVELS - below)
        moved = np.clip(self.moved + step, -MOST_MOVED, MOST_MOVED)
        self.moved = np.where(known[..., None], moved, self.moved)

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {name: getattr(self, name).tolist() for name in ("loss", "weight", "moved")}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Follower:
        """Return a follower from what `as_json` returned."""
        return cls(
            *(np.array(content[name], dtype=np.float64) for name in ("loss", "weight", "moved"))
        )
