"""Nodes that executions have changed: what is predicted of them soon afterwards proves as little as what was before.

Beside them nodes that an agent wanted to change and left untouched on purpose: they stand for the changed ones.
"""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from schemas.actions import TargetKind
from schemas.model import DataModel
from schemas.numbers import Ratio, Seconds
from schemas.proposal import UntouchedDraw
from services.scoreboard.pending import PendingForecast, note_left, note_touched


class LeftNode(DataModel):
    """A node that was left untouched on purpose."""

    time_seconds: Seconds
    propensity_ratio: Ratio


class TouchedNodes(DataModel):
    """When each node was changed last."""

    times: dict[str, Seconds] = {}
    """Cluster time by node, of those that still matter."""
    left: dict[str, LeftNode] = Field(default={}, exclude_if=lambda left: not left)
    """When each node was left last, of those that still matter."""
    longest_seconds: Seconds = 0.0
    """How long after an execution a prediction may still be marked by it."""

    def with_nodes(self, now_seconds: float, nodes: Iterable[str]) -> TouchedNodes:
        """Return the same after an execution; what no prediction can be marked by any more is dropped."""
        times = {**self.times, **dict.fromkeys(nodes, now_seconds)}
        kept = {name: at for name, at in times.items() if now_seconds - at <= self.longest_seconds}
        return self.model_copy(update={"times": kept})

    def with_left(self, now_seconds: float, draw: UntouchedDraw) -> TouchedNodes:
        """Return the same after a draw of untouched targets."""
        new = {
            name: LeftNode(time_seconds=now_seconds, propensity_ratio=draw.ratio)
            for name in left_nodes(draw)
        }
        kept = {
            name: one
            for name, one in {**self.left, **new}.items()
            if now_seconds - one.time_seconds <= self.longest_seconds
        }
        return self if not self.left and not kept else self.model_copy(update={"left": kept})

    def after_prediction(
        self, forecast: PendingForecast, horizons: float
    ) -> tuple[TouchedNodes, PendingForecast]:
        """Return the same after a prediction, and the prediction with the nodes marked that were changed within so many
        of its horizons before it was made.
        """
        made, reach = forecast.cluster_time_seconds, horizons * forecast.horizon_seconds
        if reach <= 0.0:
            return self, forecast
        nodes = [name for name, at in self.times.items() if made - at <= reach]
        longest = max(self.longest_seconds, reach)
        after = self.model_copy(update={"longest_seconds": longest})
        left = {
            name: one.propensity_ratio
            for name, one in self.left.items()
            if made - one.time_seconds <= reach
        }
        return after, note_left(note_touched(forecast, made, nodes), made, left)


def left_nodes(draw: UntouchedDraw) -> tuple[str, ...]:
    """Return the nodes that a draw left untouched."""
    targets = (one.action.target for one in draw.left)
    return tuple(target.name for target in targets if target.kind is TargetKind.NODE)
