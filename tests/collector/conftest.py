"""Fixtures of the collector's tests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from services.collector.assemble import assemble
from services.collector.cluster import read_every_list
from services.collector.pod_rows import SnapshotLimits
from services.collector.snapshot import Snapshot
from services.twin_transport import TwinTransport
from tests.collector.scripted_cluster import ScriptedCluster

Look = Callable[..., Snapshot]


@pytest.fixture
def look() -> Look:
    """Return a function that takes one snapshot of a scripted cluster."""

    def take(cluster: ScriptedCluster, **cuts: Any) -> Snapshot:
        expected = {"since_seconds": cluster.now, "failed_pod_seconds": 300.0, "listed_pods": 1000}
        reading = asyncio.run(read_every_list(TwinTransport(cluster), cluster.now))
        return assemble(
            reading, cluster.now, SnapshotLimits(**{**expected, **cuts}), simulated=False
        )

    return take
