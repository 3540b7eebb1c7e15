"""Taints by which a cloud, or its agents in the cluster, say that a machine is about to go."""

from __future__ import annotations

NOTICE_TAINTS = frozenset(
    (
        "foresail.dev/spot-interruption",
        "aws-node-termination-handler/spot-itn",
        "aws-node-termination-handler/scheduled-maintenance",
        "cloud.google.com/impending-node-termination",
        "node.kubernetes.io/out-of-service",
    )
)
"""Taints by which a cloud or its agents say that a machine is about to go."""
