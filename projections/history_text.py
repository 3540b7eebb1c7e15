"""What replicas of workloads bear, for people."""

from __future__ import annotations

from projections.figures import duration, number
from schemas.capacity import PredictionCapacity, capacity_text

BASES = {
    "seen": "seen to hold below and to break above",
    "prior": "by the CPU of its requests, until more is seen",
    "borne": "the most that was seen so far; nothing is known above",
}


def capacity_sentence(data: PredictionCapacity, workload: str) -> str:
    """Return as a sentence what one replica of a workload bears, and on what that rests; empty where unknown."""
    row = data.workloads.index().get(workload)
    if row is None:
        return ""
    table = data.workloads
    windows = number(table.windows[row])
    return (
        f"one replica bears {capacity_text(data, row).partition(' ')[2]} within {duration(data.latency_seconds)}: "
        f"{BASES[table.source[row]]} ({windows} minutes of evidence)"
    )
