"""Forecasts as an agent that judges by expected value keeps them: bands of demand, and what a replica bears.

Bands come once a minute at most, so those of an earlier cycle stand until newer ones come; they say themselves of
which minute they speak.
"""

from __future__ import annotations

from typing import Any

from schemas.capacity import CapacityTable, PredictionCapacity
from schemas.envelope import Event
from schemas.model import DataModel
from schemas.numbers import Seconds
from schemas.prediction import DemandBands, PredictionDemand


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

    def capacity(self, cycle: int) -> StatedCapacity | None:
        """Return the newest statement of an earlier cycle: one of this cycle may be read before the answer or after."""
        return next((each for each in reversed(self.capacities) if each.cycle < cycle), None)


NOTHING_FORESEEN = Foreseen()


def foreseen_after(foreseen: Foreseen | None, event: Event[Any]) -> Foreseen | None:
    """Return what is foreseen after an event; the same object where it tells of neither."""
    data = event.data
    if isinstance(data, PredictionDemand):
        changes: dict[str, Any] = {"cycle": data.cycle}
        if data.bands:
            changes |= {
                "bands": data.bands,
                "bands_id": event.id,
                "bands_seconds": data.cluster_time_seconds,
            }
    elif isinstance(data, PredictionCapacity):
        stated = StatedCapacity(id=event.id, cycle=data.cycle, workloads=data.workloads)
        changes = {"capacities": (*(foreseen or NOTHING_FORESEEN).capacities[-1:], stated)}
    else:
        return foreseen
    return (foreseen or NOTHING_FORESEEN).model_copy(update=changes)
