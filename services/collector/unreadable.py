"""Unreadable items of a list: found item by item, once the list as a whole has failed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from schemas.snapshot import NodeTable, SourceRead
from schemas.tables import table_of
from services.collector.node_rows import node_rows, usage_and_window
from services.collector.pod_rows import SnapshotLimits, pod_rows
from services.collector.reading import CycleReads, ListRead
from services.collector.scalings import scaling_rows
from services.collector.workload_rows import deployment_rows, job_rows

_EVERY_POD = SnapshotLimits(since_seconds=0.0, failed_pod_seconds=math.inf, listed_pods=1)
_ROW_OF: Mapping[str, Callable[[Any], object]] = {
    "nodes": lambda item: table_of(NodeTable, node_rows((item,), {})),
    "node_metrics": lambda item: usage_and_window((item,)),
    "pods": lambda item: pod_rows((item,), 0.0, _EVERY_POD),
    "deployments": lambda item: deployment_rows((item,)),
    "autoscalers": lambda item: scaling_rows((item,)),
    "jobs": lambda item: job_rows((item,)),
}
"""What is computed of one item of each list; raises ValueError for one that cannot be read."""
_NAMED = 3
"""Rows that are named when some cannot be read."""


def without_unreadable(reading: CycleReads, name: str) -> tuple[CycleReads, str]:
    """Return the reads without the items of a list that cannot be read, and which these are and why; the same reads
    where that would leave nothing.
    """
    found: ListRead[Any] = getattr(reading, name)
    good, bad = [], []
    for item in found.items:
        try:
            _ROW_OF[name](item)
            good.append(item)
        except ValueError as error:
            at = item.metadata
            place = f"{at.namespace}/{at.name}" if at.namespace else at.name
            bad.append(f"{place} ({' '.join(str(error).split())})")
    if not good:
        return reading, ""
    named = ", ".join(bad[:_NAMED]) + (f" and {len(bad) - _NAMED} more" if bad[_NAMED:] else "")
    left = f"left out {len(bad)} of {len(found.items)}: {named}"
    kept: dict[str, Any] = {name: replace(found, items=tuple(good))}
    return replace(reading, **kept), left


class UnreadableItems:
    """Logs which items could not be read, when that has changed."""

    def __init__(self, warn: Callable[..., object]) -> None:
        """Tell `warn`, a logger's method."""
        self._warn = warn
        self._told: dict[str, str] = {}

    def tell(self, sources: Sequence[SourceRead]) -> None:
        """Log the message of each source that was read and left something out."""
        told = {one.source: one.message for one in sources if one.ok and one.message}
        for source, message in told.items():
            if self._told.get(source) != message:
                self._warn("items left out", source=source, items=message)
        self._told = told
