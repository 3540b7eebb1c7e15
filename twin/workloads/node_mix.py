"""Draw N nodes that look like the trace's machines.

Guarantee: shape counts are the trace's shares rounded by largest remainder, so that capacity per
node stays the trace's at any N; only the order is random.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from twin.workloads.arrival import NodeShape
from twin.workloads.model import NodeRow


def allot(weights: Sequence[int], places: int) -> list[int]:
    """Share `places` among `weights` by largest remainder; ties go to the earlier weight."""
    total = sum(weights)
    counts = [weight * places // total for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda i: (-(weights[i] * places % total), i))
    for index in by_remainder[: places - sum(counts)]:
        counts[index] += 1
    return counts


def sample_nodes(rows: Sequence[NodeRow], nodes: int, rng: Random, prefix: str) -> list[NodeShape]:
    """`nodes` machines named `<prefix>-node-0000` onwards, shapes in random order."""
    counts = allot([row.weight for row in rows], nodes)
    shapes = [row for row, count in zip(rows, counts, strict=True) for _ in range(count)]
    rng.shuffle(shapes)
    return [
        NodeShape(
            name=f"{prefix}-node-{index:04d}",
            cpu_millicores=row.cpu_millicores,
            memory_bytes=row.memory_bytes,
            gpus=row.gpus,
            labels=dict(row.labels),
        )
        for index, row in enumerate(shapes)
    ]
