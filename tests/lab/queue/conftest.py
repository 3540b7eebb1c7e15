"""A simulated cluster with Kueue in this process, and what plays on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from lab.queue.applying import AppliedStep, apply
from lab.queue.capacity import offered
from lab.queue.manifests import QueueSetup, manifests
from lab.queue.reading import kueue_version, read_queues
from lab.queue.samples import QueueLedger, QueueSample, take_sample
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.settings import KueueConfig, TwinConfig
from twin.port.workloads import NodeShape

GIB = 2**30
NAMESPACE = "batch"


@dataclass
class World:
    """Two machines of four cores and 16 GiB, and the looks that were taken at them."""

    engine: Engine
    transport: TwinTransport
    ledger: QueueLedger = field(default_factory=QueueLedger)

    async def setup(
        self,
        *,
        dry_run: bool = False,
        namespaces: Sequence[str] = (NAMESPACE,),
        quota_ratio: float = 1.0,
    ) -> list[AppliedStep]:
        """Prepare the cluster."""
        there = await offered(self.transport)
        asked = QueueSetup(
            namespaces,
            round(quota_ratio * there.cpu_millicores),
            round(quota_ratio * there.memory_bytes),
        )
        return await apply(self.transport, list(manifests(asked)), dry_run=dry_run)

    async def submit(self, manifest: Any) -> None:
        """Create a Job."""
        path = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
        await self.transport.request("POST", path, None, manifest)

    async def look(self, after_seconds: float = 0.0) -> QueueSample:
        """Let time pass, and take the next look."""
        self.engine.advance(self.engine.now + after_seconds)
        version = await kueue_version(self.transport)
        reads = await read_queues(self.transport, version, (NAMESPACE,))
        self.ledger, look = take_sample(self.ledger, reads)
        return look


@pytest.fixture
def make_world() -> Callable[..., World]:
    """Return what makes a new cluster."""

    def make(*, kueue: bool = True) -> World:
        engine = Engine(TwinConfig(kueue=KueueConfig(served=kueue)), 1)
        engine.add_nodes([NodeShape(name, 4_000, 16 * GIB, 0, {}) for name in ("n1", "n2")])
        engine.advance(engine.now + 2.0)
        return World(engine, TwinTransport(InProcessTwin(engine)))

    return make
