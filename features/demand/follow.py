"""Online tracking of a series: a mixture of the model with the rules, and the calibration of its bands.

*Mixture*: each speaker (the model first, then the rules) has a mean of its newest losses that fades with time; weights
are exponential in it (Vovk 1990, the aggregating forecaster with forgetting), and quantiles are averaged. Where the
model is worse than a rule, on flat or bursty series, the rule takes over within hours.

*Calibration*: each quantile is moved by so many scales; after every outcome the move takes a small step against the
miss (adaptive conformal inference, Gibbs and Candes 2021, in the form of a quantile tracker, Angelopoulos et al.
2023), so that the share of outcomes below it goes to what it should be whatever the series does. Rising edges have
a move of their own beside it: it is there that demand is missed, and they are few.

State is plain arrays over n series; nothing here reads a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
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
EDGE_STEP = 0.04
MOST_MOVED = 5.0
MOST_LOST = 100.0
STATE = ("loss", "weight", "moved", "edge_moved")
_LEVELS = np.array(QUANTILES)
_EDGE_LEVELS = np.array((0.04, 0.08, 0.5, 0.92, 0.96))
"""What quantiles are led to on rising edges: a little wider, as edges differ from those before."""


def pinball(said: AnyFloats, truth: Floats) -> Floats:
    """Return the mean pinball loss over quantiles: `said` (..., quantiles), `truth` (...)."""
    above = truth[..., None] - said
    loss: Floats = np.maximum(_LEVELS * above, (_LEVELS - 1.0) * above).mean(axis=-1)
    return loss


@dataclass(slots=True)
class Follower:
    """Learnt online state of n series.

    `loss` (n, horizons, speakers), fading, in scales; `weight` (n, horizons) how much was seen, towards 1; `moved`
    (n, horizons, quantiles) in scales, and `edge_moved` what is added to it on rising edges.
    """

    loss: Floats
    weight: Floats
    moved: Floats = field(repr=False)
    edge_moved: Floats = field(repr=False)

    @classmethod
    def new(cls, series: int, horizons: int, speakers: int) -> Follower:
        """Return a follower that has seen nothing."""
        shape = (series, horizons)
        still = np.zeros((*shape, len(QUANTILES)))
        return cls(np.zeros((*shape, speakers)), np.zeros(shape), still, still.copy())

    @classmethod
    def stacked(cls, many: Sequence[Follower]) -> Follower:
        """Return one follower of all their series, with arrays of its own."""
        return cls(*(np.concatenate([getattr(one, name) for one in many]) for name in STATE))

    def one(self, row: int) -> Follower:
        """Return the state of one series."""
        return Follower(*(getattr(self, name)[row : row + 1] for name in STATE))

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

    def bands(
        self, said: AnyFloats, scale: Floats, speaks: Floats, edge: NDArray[np.bool_]
    ) -> Floats:
        """Return (n, horizons, quantiles): the mixture, moved, never crossing, never below 0.

        Args:
            said: (n, horizons, speakers, quantiles); what a silent speaker says does not count.
            scale: (n, horizons).
            speaks: as in `weights`.
            edge: (n, horizons) whether the origin is on a rising edge.
        """
        mixed = (self.weights(speaks)[..., None] * said).sum(axis=-2)
        moved = self.moved + edge[..., None] * self.edge_moved
        ends: Floats = np.sort(mixed + moved * scale[..., None], axis=-1)
        return np.maximum(ends, 0.0)

    def learn(
        self,
        said: AnyFloats,
        issued: AnyFloats,
        scale: Floats,
        edge: NDArray[np.bool_],
        truth: Floats,
    ) -> None:
        """Take what came of forecasts: NaN in `truth` (n, horizons) is no outcome."""
        known = ~np.isnan(truth)
        came = np.where(known, truth, 0.0)
        lost = np.minimum(pinball(said, came[..., None]) / scale[..., None], MOST_LOST)
        faded = self.loss + FADING * (lost - self.loss)
        self.loss = np.where(known[..., None], faded, self.loss)
        self.weight = np.where(known, self.weight + FADING * (1.0 - self.weight), self.weight)
        below = came[..., None] < issued
        on_edge, off_edge = (known & edge)[..., None], (known & ~edge)[..., None]
        moved = self.moved + off_edge * STEP * (_LEVELS - below)
        self.moved = np.clip(moved, -MOST_MOVED, MOST_MOVED)
        edge_moved = self.edge_moved + on_edge * EDGE_STEP * (_EDGE_LEVELS - below)
        self.edge_moved = np.clip(edge_moved, -MOST_MOVED, MOST_MOVED)

    def as_json(self) -> dict[str, Any]:
        """Return the state as JSON values."""
        return {name: getattr(self, name).tolist() for name in STATE}

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> Follower:
        """Return a follower from what `as_json` returned."""
        return cls(*(np.array(content[name], dtype=np.float64) for name in STATE))
