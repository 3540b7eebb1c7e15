"""Streams by name and seed: what an environment, a benchmark or a command names when it wants jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from inputs.errors import InputError
from lab.learning.jobs import BYTES_PER_GIB, Amounts, JobStream, ordered_stream
from lab.learning.workloads.strategies import strategy_jobs

StreamSource = Callable[[int], JobStream]
"""From a seed to a stream; the same seed gives the same stream."""
Split = Literal["train", "development", "test"]
SPLITS: tuple[Split, ...] = ("train", "development", "test")
TEMPLATE_QUOTA = Amounts(32_000, 128 * BYTES_PER_GIB)
"""32 cores and 128 GiB: SKRueue's hour of a job each 20 s asks for about three times as much. Our own choice, as the
size of its cluster was not published.
"""
HOUR_SECONDS = 3_600.0
STRATEGIES = ("uniform", "realistic", "burst")


def stream_source(
    name: str,
    *,
    split: Split = "train",
    quota: Amounts = TEMPLATE_QUOTA,
    length_seconds: float = HOUR_SECONDS,
) -> StreamSource:
    """Return the source of a workload's streams.

    Args:
        name: a strategy over the six templates.
        split: seeds of different splits never give the same stream.
        quota: of the cluster.
        length_seconds: arrivals are before it.

    Raises:
        InputError: no workload has that name.
    """
    if name not in STRATEGIES:
        raise InputError("workload", name, f"use one of {', '.join(STRATEGIES)}")

    def make(seed: int) -> JobStream:
        jobs = strategy_jobs(name, _seed_of(split, seed), length_seconds)
        return ordered_stream(f"{name}/{split}/{seed}", jobs, quota)

    return make


def _seed_of(split: Split, seed: int) -> int:
    """Return a seed that no other split has."""
    return seed * len(SPLITS) + SPLITS.index(split)
