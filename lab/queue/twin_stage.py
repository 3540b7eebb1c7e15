"""Equal simulated clusters for the arms of a benchmark, each in this process and on its own time."""

from __future__ import annotations

from services.cluster import Transport
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.settings import KueueConfig, TwinConfig
from twin.port.workloads import NodeShape

SERVED_SECONDS = 2.0
"""By then Kueue's kinds are served."""


class TwinStage:
    """A simulated cluster with Kueue; no weather, so arms differ by who decides alone."""

    def __init__(self, nodes: int, cpu_millicores: int, memory_bytes: int, seed: int) -> None:
        """Make a cluster of equal machines; equal arguments make equal clusters."""
        self._engine = Engine(TwinConfig(kueue=KueueConfig(served=True)), seed)
        self._engine.add_nodes(
            [
                NodeShape(f"node-{number}", cpu_millicores, memory_bytes, 0, {})
                for number in range(nodes)
            ]
        )
        self._engine.advance(self._engine.now + SERVED_SECONDS)
        self._transport = TwinTransport(InProcessTwin(self._engine))

    @property
    def transport(self) -> Transport:
        """Its API."""
        return self._transport

    async def sleep_until(self, cluster_seconds: float) -> None:
        """Let everything happen until then."""
        self._engine.advance(cluster_seconds)
