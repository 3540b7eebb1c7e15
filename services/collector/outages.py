"""Since when a source of the collector has failed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.snapshot import SourceRead
from services.collector.snapshot import Snapshot


def dated_failures(snapshot: Snapshot, before: Mapping[str, float]) -> tuple[SourceRead, ...]:
    """Return the reads of a snapshot, each failed one with the cluster time since which it has failed.

    Args:
        snapshot: this cycle's reads.
        before: by source, since when it had failed in the cycle before (cluster time).
    """
    now = snapshot.cluster_time_seconds
    return tuple(
        read
        if read.ok
        else read.model_copy(update={"failing_since_seconds": before.get(read.source, now)})
        for read in snapshot.sources
    )


def failing_since(sources: Sequence[SourceRead]) -> dict[str, float]:
    """Return by failed source since when it has failed (cluster time)."""
    return {
        read.source: read.failing_since_seconds
        for read in sources
        if read.failing_since_seconds is not None
    }
