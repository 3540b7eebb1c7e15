"""How one cluster of a stack that serves several stands, as `clusters.json` lists it (`bus.cluster_list`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ClusterStanding:
    """How one cluster stands, in what fits a line."""

    dashboard_url: str = ""
    mode: str = ""
    cycle: int = -1
    """The newest one observed; -1 before the first."""
    hold: str = ""
    """What the operator said that stops acting; empty when nothing does."""
    trouble: str = ""
    """Why its cluster cannot be read, or why its processes ended; empty when neither is so."""
    running: bool = True
