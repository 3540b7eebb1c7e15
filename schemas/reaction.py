"""Reactions: what Kubernetes itself did and when, each with its lag. Published by the collector,
once per cycle.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar

from schemas.model import DataModel, EventData
from schemas.numbers import Cycle, Rounded, Seconds
from schemas.reasons import PendingClass

MOST_IN_LINE = 4
"""Reactions that a line names."""


class ReactionKind(StrEnum):
    """Kinds of changes in the cluster between two cycles."""

    DEMAND_RISE = "demand_rise"
    """More was requested than before: new pods wanted."""
    HPA_CHANGE = "hpa_change"
    """A HorizontalPodAutoscaler changed the replicas of its target."""
    SCALE_UP = "scale_up"
    SCALE_DOWN = "scale_down"
    NODE_REQUESTED = "node_requested"
    NODE_READY = "node_ready"
    NODE_NOT_READY = "node_not_ready"
    NODE_GONE = "node_gone"
    POD_PENDING = "pod_pending"
    POD_SCHEDULED = "pod_scheduled"
    POD_READY = "pod_ready"
    POD_FAILED = "pod_failed"
    POD_RESTARTED = "pod_restarted"
    SOURCE_LOST = "source_lost"
    """A list of the API server, or its metrics, cannot be read any more."""
    SOURCE_RESTORED = "source_restored"
    """It can be read again; the lag is how long it could not."""


class ReactionItem(DataModel):
    """One thing that happened, when, and how long after what."""

    kind: ReactionKind
    object: str
    """`<namespace>/<pod>`, a node's name, `<namespace>/<kind>/<name>` of a workload, or a source of the
    snapshot (`pods`).
    """
    time_seconds: Seconds
    """Cluster time at which it happened (the API's own time stamp), or was first seen."""
    lag_seconds: Seconds | None
    """Time since `since`; None when the beginning is not known."""
    since: str = ""
    """What the lag is counted from: `created`, `scheduled`, `demand_rise`, `not_ready`, `source_lost`."""
    workload: str = ""
    """`<namespace>/<kind>/<name>` that the object belongs to or acts on; empty for a node and a bare
    pod.
    """
    node: str = ""
    """The node it is, or is on; empty for a pod without one and for workloads."""
    pending_class: PendingClass | None = None
    before: Rounded | None = None
    after: Rounded | None = None
    text: str


class Reaction(EventData):
    """All reactions seen in one cycle, oldest first; often empty."""

    TYPE: ClassVar[str] = "foresail.reaction.v1"
    WRITER: ClassVar[str] = "collector"
    PATTERN: ClassVar[tuple[str, ...]] = ("reaction",)

    cycle: Cycle
    cluster_time_seconds: Seconds
    reactions: tuple[ReactionItem, ...]
    omitted: int = 0
    """How many more there were than are listed (oldest are kept)."""

    def line(self) -> str:
        """Return the first few things that happened."""
        more = len(self.reactions) - MOST_IN_LINE + self.omitted
        texts = [item.text for item in self.reactions[:MOST_IN_LINE]]
        texts += [f"{more} more"] if more > 0 else []
        return "; ".join(texts) or "nothing happened"
