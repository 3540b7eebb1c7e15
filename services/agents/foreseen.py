"""Forecasts as an agent that judges by expected value keeps them: bands of demand, and what a replica bears.

Bands come once a minute at most, so those of an earlier cycle stand until newer ones come; they say themselves of
which minute they speak.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from schemas.capacity import CapacityTable, PredictionCapacity
from schemas.envelope import Event
from schemas.foresight import OutcomeForesight
from schemas.model import DataModel
from schemas.numbers import Seconds
from schemas.prediction import DemandBands, PredictionDemand
from schemas.sizes import PredictionSizes


class StatedCapacity(DataModel):
    """Capacity of one replica of each workload, as inference has said."""

    id: str
    """Of the event."""
    cycle: int
    workloads: CapacityTable


class Foreseen(DataModel):
    """The newest of each, of whatever cycle."""

    cycle: int = 0
    """Of the newest prediction of demand, with bands or without."""
    bands_id: str = ""
    """Id of the event that the bands come from."""
    bands_seconds: Seconds = 0.0
    """Cluster time at which they were made."""
    bands: tuple[DemandBands, ...] = ()
    """By horizon, shortest first."""
    capacities: tuple[StatedCapacity, ...] = ()
    """What one replica of each workload bears: the newest statement and the one before it, oldest first."""
    sizes: PredictionSizes | None = Field(default=None, exclude_if=lambda sizes: sizes is None)
    """The newest statement of what pods will use at most."""
    next_sizes: PredictionSizes | None = Field(default=None, exclude_if=lambda sizes: sizes is None)
    """The same from the next observation on."""
    left_out: tuple[str, ...] = Field(default=(), exclude_if=lambda models: not models)
    """Models whose bands nobody acts on at the newest observation, since the scoreboard has them back in shadow."""
    next_left_out: tuple[str, ...] = Field(default=(), exclude_if=lambda models: not models)
    """The same from the next observation on. A judgement takes effect at the observation that follows it in the log, so
    that it does not matter how far this process had read when it answered.
    """

    @property
    def silenced(self) -> tuple[str, ...]:
        """Models of the newest bands that are left out, by name."""
        said = {rule for bands in self.bands for rule in bands.series.rule}
        return tuple(name for name in self.left_out if name in said)

    def capacity(self, cycle: int) -> StatedCapacity | None:
        """Return the newest statement of an earlier cycle: one of this cycle may be read before the answer or after."""
        return next((each for each in reversed(self.capacities) if each.cycle < cycle), None)


NOTHING_FORESEEN = Foreseen()


def foreseen_after(foreseen: Foreseen | None, event: Event[Any]) -> Foreseen | None:
    """Return what is foreseen after an event; the same object where it tells of nothing of it."""
    data = event.data
    if isinstance(data, OutcomeForesight):
        changes: dict[str, Any] = {"next_left_out": data.shadows}
    elif isinstance(data, PredictionDemand):
        changes = {"cycle": data.cycle}
        if data.bands:
            changes |= {
                "bands": data.bands,
                "bands_id": event.id,
                "bands_seconds": data.cluster_time_seconds,
            }
    elif isinstance(data, PredictionCapacity):
        stated = StatedCapacity(id=event.id, cycle=data.cycle, workloads=data.workloads)
        changes = {"capacities": (*(foreseen or NOTHING_FORESEEN).capacities[-1:], stated)}
    elif isinstance(data, PredictionSizes):
        changes = {"next_sizes": data}
    else:
        return foreseen
    return (foreseen or NOTHING_FORESEEN).model_copy(update=changes)


def at_observation(foreseen: Foreseen | None) -> Foreseen | None:
    """Return what is foreseen at a new observation, from which on the newest judgement of models holds."""
    if foreseen is None:
        return foreseen
    if foreseen.left_out == foreseen.next_left_out and foreseen.next_sizes is None:
        return foreseen
    sizes = foreseen.next_sizes or foreseen.sizes
    update = {"left_out": foreseen.next_left_out, "sizes": sizes, "next_sizes": None}
    return foreseen.model_copy(update=update)
