"""History of workloads, and what their replicas bear, for people."""

from __future__ import annotations

from heapq import nlargest

from projections.figures import duration, number
from schemas.capacity import PredictionCapacity
from schemas.history import HistoryBlock, HistoryFilled
from schemas.outcome import CapacityScore
from schemas.snapshot import SnapshotUsage
from schemas.wording import count_text

MOST_LISTED = 3
BASES = {
    "seen": "seen to hold below and to break above",
    "prior": "by the CPU of its requests, until more is seen",
    "borne": "the most that was seen so far; nothing is known above",
}


def history_text(data: SnapshotUsage | HistoryFilled | HistoryBlock | PredictionCapacity) -> str:
    """Return the content of such an event as one line of text."""
    match data:
        case SnapshotUsage(workloads=table):
            most = nlargest(MOST_LISTED, zip(table.cpu_used_cores, table.ids, strict=True))
            listed = ", ".join(f"{name} {number(cores)} cores" for cores, name in most)
            return f"{count_text(len(table), 'workload')} measured: {listed or 'none'}"
        case HistoryFilled():
            steps = max((len(one.values) for one in data.series), default=0)
            span = duration(steps * data.step_seconds)
            return f"{span} of {len(data.series)} series filled in from {data.source}"
        case HistoryBlock():
            return f"block {data.block} of {len(data.ids)} series"
        case PredictionCapacity(workloads=table):
            texts = [capacity_text(data, row) for row in range(min(MOST_LISTED, len(table)))]
            more = len(table) - len(texts)
            return (
                "; ".join([*texts, *([f"{more} more"] if more else [])]) or "no workload is known"
            )


def capacity_text(data: PredictionCapacity, row: int) -> str:
    """Return what one replica of a workload bears, e.g. `shop/Deployment/web 48 requests/s (44 to 53)`."""
    table = data.workloads
    high = table.high[row]
    upper = "or more" if high is None else f"({number(table.low[row])} to {number(high)})"
    return f"{table.ids[row]} {number(table.replica_rate[row])} requests/s {upper}"


def capacity_score_text(score: CapacityScore) -> str:
    """Return how statements of what replicas bear did."""
    parts = (
        (score.held_below, score.below, "held below"),
        (score.broke_above, score.above, "broke above"),
    )
    told = [f"the objective {what} it in {part} of {of} minutes" for part, of, what in parts if of]
    return "what replicas bear: " + (", ".join(told) or "no minute was judged")


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
