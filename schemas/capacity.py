"""Capacity of one replica of a workload, as inference has learned it: part of layer 3, prediction."""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.figures import number
from schemas.model import EventData
from schemas.numbers import Cycle, Ratio, Rounded, Seconds
from schemas.tables import Table

MOST_IN_LINE = 3
"""Workloads that a line names."""


class CapacityTable(Table):
    """Workloads behind Services; `ids` are `<namespace>/<kind>/<name>`, rates requests a second of one replica."""

    version: tuple[str, ...] = ()
    """Version of the pods that it holds for (`version` of `foresail.snapshot.usage.v1`); empty where nobody says it."""
    replica_rate: tuple[Rounded, ...] = ()
    """At which the objective just holds."""
    low: tuple[Rounded, ...] = ()
    """One in twenty is expected below."""
    high: tuple[Rounded | None, ...] = ()
    """One in twenty is expected above; None where nothing was seen to break and nothing is assumed."""
    windows: tuple[Rounded, ...] = ()
    """Minutes of requests that it rests on, old ones counting less."""
    source: tuple[Literal["seen", "prior", "borne"], ...] = ()
    """`seen`: the objective held below and broke above. `prior`: mostly what the CPU of requests lets expect.
    `borne`: the largest rate at which the objective was kept, with nothing known above.
    """


class PredictionCapacity(EventData):
    """How many requests a second one replica of each workload bears within the objective.

    Published when a statement has changed; the newest event holds all of them.
    """

    TYPE: ClassVar[str] = "foresail.prediction.capacity.v1"
    WRITER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("prediction", "capacity")

    cycle: Cycle
    cluster_time_seconds: Seconds
    latency_seconds: Seconds
    """The objective: requests are answered within so much,"""
    bad_ratio: Ratio
    """and at most this share of them fails or is later."""
    workloads: CapacityTable

    def line(self) -> str:
        """Return what one replica of the first few workloads bears."""
        texts = [capacity_text(self, row) for row in range(min(MOST_IN_LINE, len(self.workloads)))]
        more = len(self.workloads) - len(texts)
        return "; ".join([*texts, *([f"{more} more"] if more else [])]) or "no workload is known"


def capacity_text(data: PredictionCapacity, row: int) -> str:
    """Return what one replica of a workload bears, e.g. `shop/Deployment/web 48 requests/s (44 to 53)`."""
    table = data.workloads
    high = table.high[row]
    upper = "or more" if high is None else f"({number(table.low[row])} to {number(high)})"
    return f"{table.ids[row]} {number(table.replica_rate[row])} requests/s {upper}"
