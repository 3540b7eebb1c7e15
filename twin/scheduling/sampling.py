"""How many feasible nodes are enough to score.

Upstream: pkg/scheduler/schedule_one.go, numFeasibleNodesToFind: all of fewer than 100 nodes;
otherwise 50 % less one point per 125 nodes, at least 5 %, and never fewer than 100 nodes.
"""

from __future__ import annotations

LEAST_NODES = 100
LEAST_PERCENT = 5


def sample_size(nodes: int, percent: int = 0) -> int:
    """Return how many feasible nodes end the search; `percent` 0 is kube-scheduler's automatic."""
    if nodes < LEAST_NODES:
        return nodes
    if not percent:
        percent = max(LEAST_PERCENT, 50 - nodes // 125)
    return max(LEAST_NODES, nodes * percent // 100)
