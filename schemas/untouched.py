"""The world without us: the same simulated world, left alone, as its collector sees it.

Its events have subjects of their own and the cycle of the observation they belong beside, so that they are
recorded and replayed like all others. Nothing decides by them.
"""

from __future__ import annotations

from typing import ClassVar

from schemas.observation import ObservedState
from schemas.snapshot import NodesState, PlacementsState, WorkloadsState


class UntouchedNodes(NodesState):
    """Nodes of the untouched world."""

    TYPE: ClassVar[str] = "foresail.untouched.nodes.v1"
    WRITER: ClassVar[str] = "untouched"
    PATTERN: ClassVar[tuple[str, ...]] = ("untouched", "nodes")


class UntouchedPlacements(PlacementsState):
    """Placements in the untouched world."""

    TYPE: ClassVar[str] = "foresail.untouched.placements.v1"
    WRITER: ClassVar[str] = "untouched"
    PATTERN: ClassVar[tuple[str, ...]] = ("untouched", "placements")


class UntouchedWorkloads(WorkloadsState):
    """Workloads and single pods of the untouched world."""

    TYPE: ClassVar[str] = "foresail.untouched.workloads.v1"
    WRITER: ClassVar[str] = "untouched"
    PATTERN: ClassVar[tuple[str, ...]] = ("untouched", "workloads")


class UntouchedObservation(ObservedState):
    """What agents would have been shown, had nobody acted."""

    TYPE: ClassVar[str] = "foresail.untouched.observation.v1"
    WRITER: ClassVar[str] = "untouched"
    PATTERN: ClassVar[tuple[str, ...]] = ("untouched", "observation")
