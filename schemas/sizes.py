"""What each workload's pods are expected to use at most: part of layer 3, prediction."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from schemas.figures import number
from schemas.model import EventData
from schemas.numbers import Cycle, Rounded, Seconds
from schemas.tables import Table

MOST_IN_LINE = 3
"""Workloads that a line names."""


class SizeTable(Table):
    """Workloads whose pods were measured; `ids` are `<namespace>/<kind>/<name>`, amounts those of one pod."""

    pods: tuple[int, ...] = ()
    """Pods that were measured."""
    cpu_request_cores: tuple[Rounded, ...] = ()
    """Requested by a pod, in the mean."""
    memory_request_bytes: tuple[int, ...] = ()
    """Likewise."""
    cpu_peak_cores: tuple[Rounded, ...] = ()
    """Expected at most of the pod that uses most, until the next event; by `pooled` its part of what a machine's pods
    use at most together.
    """
    memory_peak_bytes: tuple[int, ...] = ()
    """Likewise."""
    known_seconds: tuple[int, ...] = ()
    """For how long its use is known, within the newest fourteen days."""
    rule: tuple[str, ...] = Field(default=())
    """Who says what of cores: the rule (features/live/size_rules.py)."""


class PredictionSizes(EventData):
    """Peaks of what workloads will use, at the end of each step of their history."""

    TYPE: ClassVar[str] = "foresail.prediction.sizes.v1"
    WRITER: ClassVar[str] = "inference"
    PATTERN: ClassVar[tuple[str, ...]] = ("prediction", "sizes")

    cycle: Cycle
    cluster_time_seconds: Seconds
    measured_seconds: Seconds
    """Cluster time of the measurement that pods and requests are of."""
    workloads: SizeTable

    def line(self) -> str:
        """Return the peaks of the first few workloads."""
        table = self.workloads
        texts = [
            f"{table.ids[row]} {number(table.cpu_peak_cores[row])} of {number(table.cpu_request_cores[row])} cores"
            for row in range(min(MOST_IN_LINE, len(table)))
        ]
        more = len(table) - len(texts)
        return "; ".join([*texts, *([f"{more} more"] if more else [])]) or "no workload is known"
