"""Incidents of the log up to a moment, and the history of one node. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from projections.frame_states import FrameStates
from projections.incidents.book import IncidentBook
from projections.rail_state import RailLedger
from schemas.envelope import Event
from schemas.observation import Observation, ObservedNodes, ObservedPods
from schemas.prediction import (
    DemandBands,
    Prediction,
    PredictionDemand,
    PredictionRisk,
    nodes_series,
    prediction_table,
)
from schemas.reaction import Reaction
from schemas.snapshot import PlacementTable, SnapshotPlacements
from services.dashboard.cycle_json import Json
from services.dashboard.decision_entry import DecisionEntry
from services.dashboard.workloads import band_of, decisions_about

NODE_SUBJECTS = (
    "observation",
    "prediction.risk",
    "prediction.demand",
    "reaction",
    "snapshot.placements",
)
COLUMNS = (
    "cpu_requested_ratio",
    "cpu_used_ratio",
    "memory_requested_ratio",
    "memory_used_ratio",
    "power_watts",
    "pods",
)
"""Columns of a node's observed row that are drawn."""
MOST_REACTIONS = 40


def incidents_json(book: IncidentBook, recorded_ms: Callable[[float], int | None]) -> list[Json]:
    """Return every incident of a book, newest first, each with its chain, lanes and curves.

    Args:
        book: what is known of the cluster.
        recorded_ms: when a cluster time, in seconds, was recorded.
    """
    return [
        {
            **one.model_dump(mode="json"),
            "lead_seconds": one.lead_seconds,
            "damage_ms": recorded_ms(one.damage_seconds),
            "end_ms": None if one.end_seconds is None else recorded_ms(one.end_seconds),
        }
        for one in reversed(book.incidents())
    ]


@dataclass(slots=True)
class NodeHistory:
    """One node, as observations, predictions and reactions tell of it."""

    name: str
    looks: list[Json] = field(default_factory=list)
    """One for each cycle: cluster time, and the drawn columns."""
    risk: dict[int, float] = field(default_factory=dict)
    """By cycle."""
    demand: dict[int, float] = field(default_factory=dict)
    reactions: list[Json] = field(default_factory=list)
    newest: Json = field(default_factory=dict)
    pods: list[Json] = field(default_factory=list)
    """Its pods that need a look."""
    prediction: PredictionRisk | None = None
    size: str = ""
    """Series of the machines that have as many cores and as much memory,"""
    same_size: list[int] = field(default_factory=list)
    """how many there were in each cycle,"""
    size_requested: list[float] = field(default_factory=list)
    """and the cores that were requested on them."""
    bands: list[Json] = field(default_factory=list)
    """Of these cores, one for each prediction: of the shortest horizon, at the time it is about."""
    placements: PlacementTable | None = None
    _states: FrameStates = field(default_factory=FrameStates)

    def add(self, event: Event[Any]) -> None:
        """Take in one event."""
        match event.data:
            case Observation() as data:
                self._add_look(event, data)
            case PredictionRisk() as prediction:
                self.prediction = prediction
                _note(self.risk, prediction, self.name)
            case PredictionDemand() as prediction:
                _note(self.demand, prediction, self.name)
                self._add_bands(prediction.bands)
            case SnapshotPlacements():
                state = self._states.add(event)
                table = None if state is None else state.tables.get("placements")
                self.placements = table if isinstance(table, PlacementTable) else None
            case Reaction(reactions=items):
                mine = (item for item in items if self.name in (item.node, item.object))
                self.reactions.extend(
                    {**item.model_dump(mode="json"), "seq": event.seq} for item in mine
                )
            case _:
                pass

    def as_json(
        self, decisions: Iterable[DecisionEntry], rails: RailLedger, until_seq: int
    ) -> Json:
        """Return everything, newest last; `decisions` are those of the log by then, newest first."""
        return {
            "name": self.name,
            "now": self.newest,
            "at": [look["at"] for look in self.looks],
            "cycles": [look["cycle"] for look in self.looks],
            "series": {
                **{column: [look[column] for look in self.looks] for column in COLUMNS},
                "risk": [self.risk.get(look["cycle"]) for look in self.looks],
                "demand": [self.demand.get(look["cycle"]) for look in self.looks],
                "size_requested_cores": self.size_requested,
            },
            "same_size": self.same_size[-1] if self.same_size else 0,
            "bands": self.bands,
            "placed": self._placed(),
            "pods": self.pods,
            "features": self._features(),
            "model": None if self.prediction is None else self.prediction.model_id,
            "alarm_ratio": None if self.prediction is None else self.prediction.alarm_ratio,
            "reactions": self.reactions[-MOST_REACTIONS:][::-1],
            "rails": [rail.model_dump(mode="json") for rail in rails.rails(self.name)],
            "decisions": decisions_about(decisions, self.name, until_seq),
        }

    def _add_look(self, event: Event[Any], data: Observation) -> None:
        state = self._states.add(event)
        nodes = None if state is None else state.tables.get("nodes")
        if not isinstance(nodes, ObservedNodes):
            return
        place = nodes.index().get(self.name)
        if place is None:
            return
        self.newest = dict(nodes.row(place))
        drawn = {column: self.newest.get(column) for column in COLUMNS}
        self.looks.append({"at": data.cluster_time_seconds, "cycle": data.cycle, **drawn})
        self._add_size(nodes)
        pods = None if state is None else state.tables.get("pods")
        if isinstance(pods, ObservedPods):
            rows = (pods.row(number) for number in range(len(pods.ids)))
            self.pods = [dict(row) for row in rows if row.get("node") == self.name]

    def _add_size(self, nodes: ObservedNodes) -> None:
        columns = zip(
            nodes.cpu_allocatable_cores,
            nodes.memory_allocatable_bytes,
            nodes.cpu_requested_ratio,
            strict=True,
        )
        own = (self.newest["cpu_allocatable_cores"], self.newest["memory_allocatable_bytes"])
        self.size = nodes_series(*own)
        requested = [
            cores * (ratio or 0.0) for cores, memory, ratio in columns if (cores, memory) == own
        ]
        self.same_size.append(len(requested))
        self.size_requested.append(round(math.fsum(requested), 6))

    def _add_bands(self, bands: Sequence[DemandBands]) -> None:
        found = (one for band in bands if (one := band_of(band, self.size)) is not None)
        if (shortest := next(found, None)) is not None:
            self.bands.append(shortest)

    def _placed(self) -> list[Json]:
        """Return what runs on it, by workload, those that request most first."""
        table = self.placements or PlacementTable()
        rows = [
            dict(table.row(place)) | {"workload": name.split("|", 1)[1]}
            for place, name in enumerate(table.ids)
            if name.split("|", 1)[0] == self.name
        ]
        return sorted(rows, key=lambda row: -row["cpu_request_cores"])

    def _features(self) -> list[Json]:
        if self.prediction is None:
            return []
        mine = [
            one for one in self.prediction.contributions if one.target.split("|")[0] == self.name
        ]
        return [
            one.model_dump(mode="json") | {"unit": self.prediction.contributions_unit}
            for one in sorted(mine, key=lambda one: -abs(one.contribution))
        ]


def _note(known: dict[int, float], prediction: Prediction, name: str) -> None:
    _, ids, ratios = prediction_table(prediction)
    if name in ids:
        known[prediction.cycle] = ratios[ids.index(name)]
