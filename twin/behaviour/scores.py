"""Scores of feasible nodes: LeastAllocated and BalancedAllocation over CPU and memory, 0 to 100."""

from __future__ import annotations

import numpy as np

from twin.behaviour.node_table import Floats, Ints, NodeTable

MAX_SCORE = 100
_NONZERO_CPU_MILLICORES = 100
_NONZERO_MEMORY_BYTES = 200 * 2**20


def total_scores(nodes: NodeTable, rows: Ints, cpu_millicores: int, memory_bytes: int) -> Ints:
    """Return the sum of both scores (weight 1 each) for a pod of these requests on each row."""
    cpu = _ratio(nodes, rows, 0, cpu_millicores or _NONZERO_CPU_MILLICORES)
    memory = _ratio(nodes, rows, 1, memory_bytes or _NONZERO_MEMORY_BYTES)
    return least_allocated(cpu, memory) + balanced(cpu, memory)


def least_allocated(cpu_ratio: Floats, memory_ratio: Floats) -> Ints:
    """Return the mean free part after placement; each resource is cut to whole points first."""
    points = ((1.0 - cpu_ratio) * MAX_SCORE).astype(np.int64)
    points += ((1.0 - memory_ratio) * MAX_SCORE).astype(np.int64)
    return points // 2


def balanced(cpu_ratio: Floats, memory_ratio: Floats) -> Ints:
    """Return 100 x (1 - standard deviation), which for two resources is half their distance."""
    return ((1.0 - np.abs(cpu_ratio - memory_ratio) / 2.0) * MAX_SCORE).astype(np.int64)


def _ratio(nodes: NodeTable, rows: Ints, resource: int, amount: int) -> Floats:
    offered = np.maximum(1, nodes.offered[resource, rows])
    requested: Floats = (nodes.scored[resource, rows] + amount) / offered
    return np.minimum(1.0, requested)
