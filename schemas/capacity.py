"""Capacity of one replica of a workload, as inference has learned it: part of layer 3, prediction."""

from __future__ import annotations

from typing import ClassVar, Literal

from schemas.model import EventData
from schemas.numbers import Cycle, Ratio, Rounded, Seconds
from schemas.tables import Table


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
    PRODUCER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("prediction", "capacity")

    cycle: Cycle
    cluster_time_seconds: Seconds
    latency_seconds: Seconds
    """The objective: requests are answered within so much,"""
    bad_ratio: Ratio
    """and at most this share of them fails or is later."""
    workloads: CapacityTable
