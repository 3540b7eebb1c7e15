"""Pods that would have to move for a node to be empty, or for a pod that waits to have a place."""

from __future__ import annotations

from pydantic import Field

from schemas.model import DataModel
from schemas.numbers import Count, Rounded, Seconds


class Occupant(DataModel):
    """A pod on such a node; those of DaemonSets are left out, since they go with their node."""

    pod: str
    """`<namespace>/<name>`."""
    workload: str
    """`<namespace>/<kind>/<name>` of what would replace it; empty for a bare pod."""
    cpu_request_cores: Rounded
    memory_request_bytes: Count
    gpus_requested: Count = 0
    started_time_seconds: Seconds | None
    """Cluster time at which it became ready; None while it is not."""
    checkpoint_seconds: Seconds | None = None
    """How much of its work it does again at most, by its annotation foresail.dev/checkpoint-seconds."""
    ready_replicas: Count = 0
    """Of its Deployment or StatefulSet, itself included."""
    places: tuple[str, ...] | None = Field(default=None, exclude_if=lambda names: names is None)
    """Open nodes that have what it asks of a node, its own left out, at most 64 by name; None: it asks for nothing."""
    kept_by: str = ""
    """Why it cannot be moved; empty where nothing that is seen forbids it."""


class OccupiedNode(DataModel):
    """A node that somebody may want to empty."""

    node: str
    notices: tuple[str, ...] = ()
    """Taints and conditions that say that it is about to go."""
    kept_by: str = ""
    """Why it is to be left alone; empty where nothing that is seen forbids it."""
    pods: tuple[Occupant, ...]


class WaitingPod(DataModel):
    """A pod that waits for capacity and asks for nothing else than cores and memory."""

    pod: str
    """`<namespace>/<name>`."""
    workload: str
    cpu_request_cores: Rounded
    memory_request_bytes: Count
    created_time_seconds: Seconds


class Occupancy(DataModel):
    """Nodes that may be emptied or relieved, and those to which pods would not go."""

    nodes: tuple[OccupiedNode, ...]
    """By name: lightly loaded ones, those that are about to go, and those on which `waiting` nearly fits."""
    waiting: tuple[WaitingPod, ...] = Field(default=(), exclude_if=lambda pods: not pods)
    """Pods that would fit on one of `nodes` if a few others moved: the longest-waiting of each of a few sizes."""
    closed: tuple[str, ...] = ()
    """Nodes with taints that keep pods away, by name."""
    marked: tuple[str, ...] = ()
    """Nodes with our own taint foresail.dev/risk, by name."""
    free_gpus: dict[str, Count] = {}
    """By node that has some free; empty where none of the pods listed asks for any."""
