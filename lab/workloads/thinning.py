"""Make a trace smaller without changing its load ratio.

Machines: shape counts by largest remainder. Pods: every k-th along an order, with a random
start (systematic sampling); carried-in pods in order of size, so that the sum of requests stays
close to its share, arrivals in order of time, so that their pattern stays.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from random import Random
from typing import TypeVar

import polars as pl

from twin.port.workloads import allot

Item = TypeVar("Item")


def every_kth(items: Sequence[Item], share: float, rng: Random) -> list[Item]:
    """About `share` (0..1) of `items` at even distances, in their order; all of them at 1."""
    if share >= 1.0:
        return list(items)
    position = rng.random()
    chosen = []
    for item in items:
        position += share
        if position >= 1.0:
            position -= 1.0
            chosen.append(item)
    return chosen


def sample_machines(nodes: pl.DataFrame, count: int, rng: Random) -> pl.DataFrame:
    """`count` machines in the trace's mix of shapes; beyond the trace's number, all of them."""
    if count >= len(nodes):
        return nodes
    members: dict[str, list[str]] = defaultdict(list)
    for name, shape in nodes.select("name", "shape").sort("name").iter_rows():
        members[shape].append(name)
    shapes = sorted(members, key=lambda shape: (-len(members[shape]), shape))
    counts = allot([len(members[shape]) for shape in shapes], count)
    chosen = [
        name
        for shape, places in zip(shapes, counts, strict=True)
        for name in rng.sample(members[shape], places)
    ]
    return nodes.filter(pl.col("name").is_in(chosen))
