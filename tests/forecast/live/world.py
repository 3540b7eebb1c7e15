"""A few pods on a few nodes, told as the collector tells them: one cycle after the other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from schemas.envelope import Event
from schemas.frames import FullState, apply_frame, frame_of
from schemas.snapshot import (
    PlacementTable,
    PodTable,
    SnapshotPlacements,
    SnapshotWorkloads,
    WorkloadTable,
)
from schemas.tables import table_of
from services.inference.service import InferenceHandler
from services.inference.state import InferenceState
from tests.builders import cycle_time, make_observation, stamp_event

NODES = ("n1", "n2")
CORES, MEMORY = 0.5, 2**30


@dataclass(frozen=True)
class Pod:
    """One pod as the API shows it."""

    name: str
    node: str = "n1"
    workload: str = "default/Job/report-1"
    phase: str = "Running"
    restarts: int = 0
    created: int = 1
    """Cycle in which it was created."""
    ended: int | None = None
    deleting: bool = False

    def row(self) -> dict[str, Any]:
        """Return its cells of the pod table."""
        at = cycle_time(self.created) - 3.0
        return {
            "uid": f"uid-{self.name}",
            "node": self.node,
            "workload": self.workload,
            "phase": self.phase,
            "ready": self.phase == "Running",
            "restarts": self.restarts,
            "status_reason": "",
            "status_message": "",
            "cpu_request_cores": CORES,
            "memory_request_bytes": MEMORY,
            "gpus_requested": 0,
            "priority": 0,
            "created_time_seconds": at,
            "scheduled_time_seconds": at + 1.0 if self.node else None,
            "started_time_seconds": at + 2.0 if self.node else None,
            "ended_time_seconds": None if self.ended is None else cycle_time(self.ended) - 1.0,
            "deleting": self.deleting,
        }


@dataclass
class World:
    """What runs; `told` gives one cycle's events and forgets which pods were new."""

    keyframe_every: int = 20
    cycle: int = 0
    pods: dict[str, Pod] = field(default_factory=dict)
    looked_at: set[str] = field(default_factory=set)
    ready: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(NODES, True))
    frames: dict[str, FullState] = field(default_factory=dict)

    def start(self, name: str, **fields: Any) -> None:
        """Let a pod start in the next cycle."""
        self.pods[name] = Pod(name, created=self.cycle + 1, **fields)
        self.looked_at.add(name)

    def change(self, name: str, **fields: Any) -> None:
        """Change a pod; the next cycle lists it."""
        self.pods[name] = replace(self.pods[name], **fields)
        self.looked_at.add(name)

    def fail(self, name: str) -> None:
        """Let a pod fail in the next cycle."""
        self.change(name, phase="Failed", ended=self.cycle + 1)

    def vanish(self, name: str) -> None:
        """Take a pod away without a word."""
        del self.pods[name]
        self.looked_at.discard(name)

    def next_cycle(self, *, pods_missing: bool = False) -> list[Event[Any]]:
        """Return the next cycle's snapshot and observation."""
        self.cycle += 1
        shown = {} if pods_missing else self.pods
        placements = self._frame(
            SnapshotPlacements, {"placements": table_of(PlacementTable, _placements(shown))}
        )
        listed = {f"default/{name}": shown[name].row() for name in self.looked_at if name in shown}
        workloads = self._frame(
            SnapshotWorkloads,
            {"workloads": WorkloadTable(), "pods": table_of(PodTable, listed)},
            pods_running=len(shown),
            pods_total=len(shown),
            bare_pods_succeeded=0,
        )
        status = {"status": "missing"} if pods_missing else {}
        observation = make_observation(
            {name: {"ready": ready} for name, ready in self.ready.items()},
            cycle=self.cycle,
            signals={"pods": status},
        )
        if not pods_missing:
            self.looked_at = {name for name in self.looked_at if self.pods[name].restarts}
        return [
            stamp_event(data, cycle=self.cycle) for data in (placements, workloads, observation)
        ]

    def _frame(self, kind: Any, tables: dict[str, Any], **fields: Any) -> Any:
        data = frame_of(
            kind,
            tables,
            cycle=self.cycle,
            previous=self.frames.get(kind.TYPE),
            keyframe_every=self.keyframe_every,
            cluster_time_seconds=cycle_time(self.cycle),
            **fields,
        )
        self.frames[kind.TYPE] = apply_frame(self.frames.get(kind.TYPE), data)
        return data


def _placements(pods: dict[str, Pod]) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for pod in pods.values():
        if pod.phase in ("Failed", "Succeeded") or not pod.node:
            continue
        row = rows.setdefault(
            f"{pod.node}|{pod.workload}",
            {
                "pods": 0,
                "cpu_request_cores": 0.0,
                "memory_request_bytes": 0,
                "gpus_requested": 0,
                "unhealthy": 0,
                "restarted": 0,
            },
        )
        row["pods"] += 1
        row["cpu_request_cores"] += CORES
        row["memory_request_bytes"] += MEMORY
    return rows


def state_after(
    handler: InferenceHandler, events: list[Event[Any]], state: InferenceState | None = None
) -> InferenceState:
    """Return the state after some events."""
    after = handler.initial() if state is None else state
    for event in events:
        after = handler.evolve(after, event)
    return after


def newest_unpublished(handler: InferenceHandler, state: InferenceState) -> dict[str, Any]:
    """Return what is owed for the newest cycle, by subject."""
    newest = handler.open_cycle(state)
    new_events = [one for one in handler.decide(state, overdue=False) if one.cycle == newest]
    return {".".join(new_event.data.tokens()): new_event.data for new_event in new_events}
