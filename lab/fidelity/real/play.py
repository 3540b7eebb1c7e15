"""Plays a scenario on the real programs, in real time."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from bus.clock import Clock
from lab.fidelity.cluster import Cluster, items
from lab.fidelity.player import Player
from lab.fidelity.real import provisioners
from lab.fidelity.real.http_cluster import HttpCluster
from lab.fidelity.real.metrics_server import MetricsServer
from lab.fidelity.real.node_keeper import NodeKeeper
from lab.fidelity.real.processes import CONTROL_PLANE, ControlPlane
from lab.fidelity.recording import Observer, Recording
from lab.fidelity.scenario import STEP_SECONDS, Scenario

SETTLE_SECONDS = 8.0
"""Before a scenario begins: controllers have filled their caches, and its first nodes are Ready."""


async def play_on_real(
    scenario: Scenario, binaries: Path, clock: Clock, keep: Path | None
) -> Recording:
    """Play it and return what happened; logs stay in `keep` if that is given.

    Raises InputError for a program that is not there and RuntimeError for one that ends.
    """
    with tempfile.TemporaryDirectory(prefix="fidelity-") as scratch:
        plane = ControlPlane(binaries, (keep or Path(scratch)) / scenario.name)
        metrics: MetricsServer | None = None
        cluster: HttpCluster | None = None
        try:
            cluster = await plane.start(clock)
            provisioners.prepare(scenario, plane, cluster)
            programs = {name: plane.version(name) for name in CONTROL_PLANE}
            programs |= provisioners.versions(scenario, plane)
            if any("autoscaler" in step for step in scenario.steps):
                metrics = MetricsServer(plane.folder / "certificates")
                metrics.register(cluster)
            run = _Run(scenario, plane, cluster, clock, metrics)
            await run.settle()
            observer, player = await run.play()
        finally:
            if metrics is not None:
                metrics.close()
            if cluster is not None:
                cluster.close()
            plane.close()
    programs["measured"] = datetime.fromtimestamp(clock.wall_ns() / 1e9, UTC).strftime("%Y-%m-%d")
    return observer.recording(programs, player.answers)


class _Run:
    def __init__(
        self,
        scenario: Scenario,
        plane: ControlPlane,
        cluster: Cluster,
        clock: Clock,
        metrics: MetricsServer | None,
    ) -> None:
        self._scenario = scenario
        self._plane = plane
        self._cluster = cluster
        self._clock = clock
        self._metrics = metrics
        self._keeper = NodeKeeper(cluster)
        self._player = Player(scenario, cluster, self._keeper)

    async def settle(self) -> None:
        until = self._clock.monotonic() + SETTLE_SECONDS
        while self._clock.monotonic() < until:
            self._keep()
            await self._clock.sleep(STEP_SECONDS)

    async def play(self) -> tuple[Observer, Player]:
        observer = Observer(self._scenario.name, self._scenario.seconds)
        begin = self._clock.monotonic()
        tick = 0
        while True:
            now = self._clock.monotonic() - begin
            pods, nodes = items(self._cluster, "pods"), items(self._cluster, "nodes")
            events = []
            if tick % 4 == 0:
                events = items(self._cluster, "events") + items(
                    self._cluster, "events", "kube-system"
                )
                self._plane.check()
            observer.look(now, pods, nodes, events)
            self._player.play(now)
            self._keeper.work(self._clock.monotonic(), self._stamp(), pods, nodes)
            if self._metrics is not None:
                self._metrics.scrape(now, self._stamp(), pods)
            if now >= self._scenario.seconds:
                return observer, self._player
            tick += 1
            late = self._clock.monotonic() - begin - tick * STEP_SECONDS
            if late > 0:
                tick += int(late / STEP_SECONDS)
            await self._clock.sleep(max(0.0, begin + tick * STEP_SECONDS - self._clock.monotonic()))

    def _keep(self) -> None:
        pods, nodes = items(self._cluster, "pods"), items(self._cluster, "nodes")
        self._keeper.work(self._clock.monotonic(), self._stamp(), pods, nodes)

    def _stamp(self) -> str:
        now = datetime.fromtimestamp(self._clock.wall_ns() / 1e9, UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
