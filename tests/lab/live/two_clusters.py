"""Two simulated clusters on virtual time, compared as `foresail experiment live` compares real ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from bus.clock import LoopClock
from bus.virtual_loop import run_virtual
from lab.live.history import read_histories
from lab.live.stage import LivePlan, LiveStage, open_side
from lab.live.windows import Comparison, compare
from services.cluster import Transport
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.workloads import open_workload

NAMESPACE = "foresail-exercise"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
START_NS = 1_767_225_600_000_000_000
PLAN = LivePlan(NAMESPACE, phases=(1, 6), hold_seconds=30.0, rest_seconds=20.0, poll_seconds=5.0)

Meddler = Callable[[Transport, LoopClock], Awaitable[None]]
"""Somebody who does something to the second cluster while the comparison runs."""


@dataclass
class TwoClusters:
    """What is compared, and how; the second cluster is `b`."""

    folder: Path
    plan: LivePlan = PLAN
    nodes: tuple[int, int] = (4, 4)
    meddler: Meddler | None = None
    cancel_after_seconds: float | None = None
    wrap: Callable[[Transport], Transport] = lambda transport: transport
    """Puts something in front of the second cluster."""
    left: list[int] = field(default_factory=list)
    """Deployments in each namespace at the end."""

    def play(self) -> Comparison:
        """Play it, and return what the two logs say."""
        run_virtual(self._main)
        return compare(*read_histories(self.folder))

    async def _main(self) -> None:
        clock = LoopClock(START_NS)
        twins = [
            InProcessTwin.of(
                open_workload("idle", nodes=count, seed=1), seed=1, speed=1.0, clock=clock
            )
            for count in self.nodes
        ]
        first, second = (TwinTransport(twin) for twin in twins)
        sides = (
            open_side(1, "a", first, self.folder, self.plan, clock, ()),
            open_side(2, "b", self.wrap(second), self.folder, self.plan, clock, ()),
        )
        stage = asyncio.create_task(LiveStage(self.plan, sides, clock).run())
        meddling = None
        if self.meddler is not None:
            meddling = asyncio.ensure_future(self.meddler(second, clock))
        if self.cancel_after_seconds is not None:
            await clock.sleep(self.cancel_after_seconds)
            stage.cancel()
        with suppress(asyncio.CancelledError):
            await stage
        if meddling is not None:
            meddling.cancel()
        for twin in twins:
            status, body = twin.request("GET", DEPLOYMENTS, {}, b"")
            self.left.append(body.count(b'"name":"comparison-') if status == 200 else 0)
