"""Nodes by zone, where a cluster spans several."""

from __future__ import annotations

from schemas.model import DataModel
from schemas.numbers import Count


class ZoneNodes(DataModel):
    """The nodes of one zone."""

    zone: str
    """Label `topology.kubernetes.io/zone` of its nodes."""
    nodes: Count
    nodes_ready: Count
