"""State of a reader of observations: the newest full one, and the cycles that wait for output.

Both are plain parts, so that they fit into a service's state and its checkpoint. Every service that
reads observations uses these two; applying frames and bookkeeping exist once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import Field

from schemas.actions import AgentName
from schemas.capabilities import MissingCapability
from schemas.envelope import Event
from schemas.frames import FrameMismatch, FullState, apply_frame
from schemas.model import DataModel
from schemas.numbers import Cycle, Seconds
from schemas.observation import (
    ClusterTotals,
    GivenForecasts,
    ObservedNodes,
    ObservedPods,
    ObservedServices,
    ObservedState,
)
from schemas.occupancy import Occupancy
from schemas.signals import Signal
from schemas.work import WorkCounters

OPEN_LIMIT = 1_000
"""Open cycles kept; a service that was away for longer answers only the newest of them."""


class ObservationView(DataModel):
    """One observation with its full tables."""

    id: str
    """Id of the event."""
    cycle: Cycle
    keyframe_cycle: Cycle
    state_hash: str
    cluster_time_seconds: Seconds
    interval_seconds: Seconds
    expected_agents: tuple[AgentName, ...]
    namespaces: tuple[str, ...]
    totals: ClusterTotals
    signals: tuple[Signal, ...]
    work: WorkCounters | None = None
    services: ObservedServices | None = None
    occupancy: Occupancy | None = None
    missing_means: tuple[MissingCapability, ...] = Field(
        default=(), exclude_if=lambda missing: not missing
    )
    given: GivenForecasts | None = Field(default=None, exclude_if=lambda table: table is None)
    nodes: ObservedNodes
    pods: ObservedPods

    def signal(self, name: str) -> Signal | None:
        """Return the signal of that name; None when the observation does not list it."""
        return next((signal for signal in self.signals if signal.name == name), None)


def update_view(previous: ObservationView | None, event: Event[Any]) -> ObservationView | None:
    """Return the full observation after `event`.

    None while a reader that began inside a chain of deltas waits for the next keyframe.

    Args:
        previous: what this function returned for the observation before.
        event: an event whose data is an observation, always of the same world.
    """
    data = event.data
    if not isinstance(data, ObservedState):
        raise TypeError(f"not an observation: {event.type}")
    try:
        full = apply_frame(_full_state(previous), data)
    except FrameMismatch:
        return None
    nodes, pods = full.tables["nodes"], full.tables["pods"]
    assert isinstance(nodes, ObservedNodes)
    assert isinstance(pods, ObservedPods)
    return ObservationView.model_construct(
        id=event.id,
        cycle=data.cycle,
        keyframe_cycle=full.keyframe_cycle,
        state_hash=full.hash,
        cluster_time_seconds=data.cluster_time_seconds,
        interval_seconds=data.interval_seconds,
        expected_agents=data.expected_agents,
        namespaces=data.namespaces,
        totals=data.totals,
        signals=data.signals,
        work=data.work,
        services=data.services,
        occupancy=data.occupancy,
        missing_means=data.missing_means,
        given=data.given,
        nodes=nodes,
        pods=pods,
    )


def _full_state(view: ObservationView | None) -> FullState | None:
    if view is None:
        return None
    tables = {"nodes": view.nodes, "pods": view.pods}
    return FullState(view.cycle, view.keyframe_cycle, tables, view.state_hash)


class OpenCycle(DataModel):
    """A cycle that still waits for the reader's output."""

    cycle: Cycle
    observation_id: str
    cluster_time_seconds: Seconds


def add_open_cycle(cycles: Sequence[OpenCycle], event: Event[Any]) -> tuple[OpenCycle, ...]:
    """Return the open cycles after an observation: its own is the newest."""
    data = event.data
    new = OpenCycle(
        cycle=data.cycle, observation_id=event.id, cluster_time_seconds=data.cluster_time_seconds
    )
    return (*(cycle for cycle in cycles if cycle.cycle < new.cycle), new)[-OPEN_LIMIT:]


def remove_open_cycle(cycles: Sequence[OpenCycle], cycle: int) -> tuple[OpenCycle, ...]:
    """Return the open cycles after the reader's own output of `cycle` was seen in the log."""
    return tuple(open_cycle for open_cycle in cycles if open_cycle.cycle != cycle)
