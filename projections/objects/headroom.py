"""Where a pod would fit: free room of the nodes in the newest snapshot, by requests alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from schemas.snapshot import NodeTable, PlacementTable
from schemas.tables import Table


@dataclass(frozen=True, slots=True)
class NodeHeadroom:
    """A node and what is free on it."""

    name: str
    usable: bool
    """Ready, not cordoned and switched on."""
    obstacle: str
    """Why it is not usable; empty when it is."""
    cpu_cores: float
    memory_bytes: int
    gpus: int
    pods: int

    def lacks(self, need: Mapping[str, Any]) -> tuple[str, ...]:
        """Return what a pod with a row of the snapshot's pod table would not find here."""
        short = []
        if need["cpu_request_cores"] > self.cpu_cores + 1e-9:
            short.append("cpu")
        if need["memory_request_bytes"] > self.memory_bytes:
            short.append("memory")
        if need["gpus_requested"] > self.gpus:
            short.append("gpu")
        if self.pods < 1:
            short.append("pods")
        return tuple(short)


def headrooms(tables: Mapping[str, Table]) -> list[NodeHeadroom]:
    """Return every node of the newest snapshot; empty where its tables are not known."""
    nodes, placements = tables.get("nodes"), tables.get("placements")
    if not isinstance(nodes, NodeTable) or not isinstance(placements, PlacementTable):
        return []
    used: dict[str, list[float]] = {name: [0.0, 0.0, 0.0, 0.0] for name in nodes.ids}
    columns = zip(
        placements.ids,
        placements.cpu_request_cores,
        placements.memory_request_bytes,
        placements.gpus_requested,
        placements.pods,
        strict=True,
    )
    for row_id, *amounts in columns:
        totals = used.get(row_id.partition("|")[0])
        if totals is not None:
            for number, amount in enumerate(amounts):
                totals[number] += amount
    return [_room(nodes, number, used[name]) for number, name in enumerate(nodes.ids)]


def _room(nodes: NodeTable, number: int, used: list[float]) -> NodeHeadroom:
    row = nodes.row(number)
    obstacles = (
        ("not ready", not row["ready"]),
        ("cordoned", not row["schedulable"]),
        (
            "no CPU or memory to allocate",
            min(row["cpu_allocatable_cores"], row["memory_allocatable_bytes"]) <= 0,
        ),
        ("takes no pods", row["pods_allocatable"] <= 0),
        (f"power state {row['power_state']}", row["power_state"] != "on"),
    )
    obstacle = ", ".join(text for text, holds in obstacles if holds)
    return NodeHeadroom(
        name=row["ids"],
        usable=not obstacle,
        obstacle=obstacle,
        cpu_cores=row["cpu_allocatable_cores"] - used[0],
        memory_bytes=int(row["memory_allocatable_bytes"] - used[1]),
        gpus=int(row["gpus_allocatable"] - used[2]),
        pods=int(row["pods_allocatable"] - used[3]),
    )
