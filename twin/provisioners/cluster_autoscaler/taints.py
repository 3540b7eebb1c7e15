"""The taints of Cluster Autoscaler (utils/taints/taints.go)."""

from __future__ import annotations

from twin.records import NodeRecord, Object

TO_BE_DELETED = "ToBeDeletedByClusterAutoscaler"
DELETION_CANDIDATE = "DeletionCandidateOfClusterAutoscaler"


def has_taint(node: NodeRecord, key: str) -> bool:
    """True when a node has a taint of that key."""
    return any(taint["key"] == key for taint in node.taints)


def without_taint(node: NodeRecord, key: str) -> tuple[Object, ...]:
    """Return the taints of a node but those of a key."""
    return tuple(taint for taint in node.taints if taint["key"] != key)
