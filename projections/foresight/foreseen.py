"""What was foreseen of one series at one moment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from schemas.envelope import Event
from schemas.prediction import PredictionDemand


class BandAhead(NamedTuple):
    """Where the mean of one step ahead is expected: one in ten below `low`, and one above `high`."""

    horizon_seconds: float
    step_seconds: float
    """Length of the step that is foreseen,"""
    end_seconds: float
    """and the cluster time at which it ends."""
    low: float
    middle: float
    high: float
    model: str
    """Model and version that spoke, or the simple rule."""
    lowest: float | None = None
    """One in twenty below; None where nobody says it,"""
    highest: float | None = None
    """and one above."""


class Foreseen(NamedTuple):
    """Bands of one series, the nearest first; never empty."""

    prediction_id: str
    seq: int
    """Position of the prediction in the log."""
    made_seconds: float
    """Cluster time of the prediction."""
    newest: float
    """The newest value that was known then."""
    bands: tuple[BandAhead, ...]

    @property
    def highest_middle(self) -> float:
        """The largest middle of all horizons."""
        return max(band.middle for band in self.bands)


def foreseen_in(event: Event[Any]) -> Iterator[tuple[str, Foreseen]]:
    """Yield each series of which a prediction of demand has bands that rest on more than a guess."""
    data: PredictionDemand = event.data
    found: dict[str, tuple[float, list[BandAhead]]] = {}
    for bands in data.bands:
        table = bands.series
        for row, name in enumerate(table.ids):
            if table.basis[row] == "assumed":
                continue
            band = BandAhead(
                bands.horizon_seconds,
                bands.step_seconds,
                bands.end_time_seconds,
                table.low[row],
                table.middle[row],
                table.high[row],
                table.rule[row],
                table.lowest[row] if table.lowest else None,
                table.highest[row] if table.highest else None,
            )
            found.setdefault(name, (table.newest[row], []))[1].append(band)
    for name, (newest, ahead) in found.items():
        made = data.cluster_time_seconds
        yield name, Foreseen(event.id, event.seq, made, newest, tuple(ahead))
