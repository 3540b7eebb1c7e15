"""What inference follows of workloads: fourteen days of each, and what one replica bears."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from features.live.capacity.curve import Capacity
from features.live.capacity.learned import (
    LearnedCapacity,
    LearnedWorkload,
    learn_observation,
    learn_usage,
    statements,
)
from features.live.capacity.windows import Objective
from features.live.followed_history import (
    FollowedHistory,
    after_block,
    after_filling,
    after_observation,
    after_usage,
)
from features.live.history_blocks import block_of, due_chunk
from features.live.pod_sizes import sizes_of
from features.live.size_rules import SizeRule
from features.workload_history.grid import step_at
from schemas.capacity import CapacityTable, PredictionCapacity
from schemas.history import HistoryBlock, HistoryFilled
from schemas.model import DataModel, EventData
from schemas.numbers import Seconds
from schemas.sizes import PredictionSizes
from schemas.snapshot import SnapshotUsage
from schemas.tables import table_of
from schemas.view import ObservationView
from services.packed_history import PackedHistory

STATED_SECONDS = 60.0
"""Cluster seconds between two looks at what replicas bear: evidence comes once a minute."""
CHANGED_RATIO = 0.02
"""A statement that moved by less is not published again."""


@dataclass(frozen=True, slots=True)
class FollowedParts:
    """What is followed of workloads."""

    history: bool = False
    objective: Objective | None = None
    """When a Service is well; None: what replicas bear is not learned."""
    sizes: SizeRule | None = None
    """By which rule it is said what pods will use at most, which needs the history; None: it is not said."""

    def __bool__(self) -> bool:
        """Return whether anything is."""
        return self.history or self.objective is not None

    @property
    def reads(self) -> tuple[tuple[str, ...], ...]:
        """Return what is read beside observations and own predictions."""
        history = (("history", ">"),) if self.history else ()
        return (SnapshotUsage.PATTERN, *history) if self else ()


NOTHING = FollowedParts()


class Workloads(DataModel):
    """What is known of workloads at the newest observation."""

    followed: PackedHistory = None
    """None before the first observation, or where no history is followed."""
    capacity: LearnedCapacity = LearnedCapacity()
    usage: SnapshotUsage | None = None
    """Told since the newest observation; it counts with the next one, however far this process has read."""
    stated: CapacityTable | None = None
    """What replicas bear, as it was last looked at."""
    stated_seconds: Seconds = 0.0
    published: PredictionCapacity | None = None
    """The newest that is in the log."""
    measured: SnapshotUsage | None = Field(default=None, exclude_if=lambda usage: usage is None)
    """What pods used at the newest look, where sizes are said."""
    sized_step: int = Field(default=0, exclude_if=lambda step: not step)
    """The step of the history at which the newest sizes in the log were said; 0: none were."""


def after_event(workloads: Workloads, data: EventData, parts: FollowedParts) -> Workloads:
    """Return what is known after an event that tells of workloads."""
    match data:
        case SnapshotUsage():
            return workloads.model_copy(update={"usage": data})
        case HistoryFilled() if parts.history:
            followed = after_filling(workloads.followed or FollowedHistory(), data)
            return workloads.model_copy(update={"followed": followed})
        case HistoryBlock() if parts.history:
            followed = after_block(workloads.followed or FollowedHistory(), data)
            return workloads.model_copy(update={"followed": followed})
        case PredictionCapacity():
            return workloads.model_copy(update={"published": data})
        case PredictionSizes():
            return workloads.model_copy(update={"sized_step": step_at(data.cluster_time_seconds)})
    return workloads


def after_view(workloads: Workloads, view: ObservationView, parts: FollowedParts) -> Workloads:
    """Return what is known after an observation, and the use that was told since the one before."""
    usage, now = workloads.usage, view.cluster_time_seconds
    update: dict[str, Any] = {"usage": None}
    if parts.sizes is not None and usage is not None:
        update["measured"] = usage
    if parts.history:
        followed = workloads.followed or FollowedHistory()
        if usage is not None:
            followed = after_usage(followed, usage)
        update["followed"] = after_observation(followed, view)
    if parts.objective is not None:
        capacity = learn_observation(workloads.capacity, view, parts.objective)
        update["capacity"] = capacity if usage is None else learn_usage(capacity, usage)
        if now - workloads.stated_seconds >= STATED_SECONDS:
            learned = update["capacity"].workloads
            stated = capacity_table(statements(update["capacity"]), learned)
            update |= {"stated": stated, "stated_seconds": now}
    return workloads.model_copy(update=update)


def capacity_table(
    known: Mapping[str, Capacity], learned: Mapping[str, LearnedWorkload]
) -> CapacityTable:
    """Return the statements as they travel."""
    rows = {
        name: {
            "version": learned[name].version,
            "replica_rate": one.value,
            "low": one.low,
            "high": one.high,
            "windows": one.windows,
            "source": one.source,
        }
        for name, one in known.items()
    }
    return table_of(CapacityTable, rows)


def new_data(
    workloads: Workloads, view: ObservationView, parts: FollowedParts
) -> Iterator[EventData]:
    """Yield what is to be published with the predictions of the newest observation."""
    at = {"cycle": view.cycle, "cluster_time_seconds": view.cluster_time_seconds}
    stated, published, objective = workloads.stated, workloads.published, parts.objective
    if stated is not None and objective is not None and has_changed(published, stated):
        yield PredictionCapacity(
            latency_seconds=objective.latency_seconds,
            bad_ratio=objective.bad_ratio,
            workloads=stated,
            **at,
        )
    measured, step = workloads.measured, step_at(view.cluster_time_seconds)
    if (
        parts.sizes is not None
        and measured is not None
        and workloads.followed is not None
        and step > workloads.sized_step
    ):
        machines = sum(pods > 0 for pods in view.nodes.pods)
        sizes = sizes_of(workloads.followed.history, measured, parts.sizes, machines)
        yield PredictionSizes(measured_seconds=measured.cluster_time_seconds, workloads=sizes, **at)
    if workloads.followed is not None:
        history = workloads.followed.history
        chunk = due_chunk(history, workloads.followed.written, view.cycle)
        if chunk is not None:
            yield block_of(history, chunk, view.cycle, view.cluster_time_seconds)


def has_changed(published: PredictionCapacity | None, stated: CapacityTable) -> bool:
    """Say whether statements differ by more than `CHANGED_RATIO` from those that are in the log."""
    before = CapacityTable() if published is None else published.workloads
    words = ("ids", "version", "source")
    if any(getattr(before, name) != getattr(stated, name) for name in words):
        return True
    return any(
        (old is None) != (new is None)
        or (old is not None and new is not None and abs(new - old) > CHANGED_RATIO * old)
        for name in ("replica_rate", "low", "high")
        for old, new in zip(getattr(before, name), getattr(stated, name), strict=True)
    )
