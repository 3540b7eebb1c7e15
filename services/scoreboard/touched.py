"""Nodes that executions have changed: what is predicted of them soon afterwards proves as little as what was before."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.model import DataModel
from schemas.numbers import Seconds
from services.scoreboard.pending import PendingForecast, note_touched


class TouchedNodes(DataModel):
    """When each node was changed last."""

    times: dict[str, Seconds] = {}
    """Cluster time by node, of those that still matter."""
    longest_seconds: Seconds = 0.0
    """How long after an execution a prediction may still be marked by it."""

    def with_nodes(self, now_seconds: float, nodes: Iterable[str]) -> TouchedNodes:
        """Return the same after an execution; what no prediction can be marked by any more is dropped."""
        times = {**self.times, **dict.fromkeys(nodes, now_seconds)}
        kept = {name: at for name, at in times.items() if now_seconds - at <= self.longest_seconds}
        return self.model_copy(update={"times": kept})

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
        return after, note_touched(forecast, made, nodes)
