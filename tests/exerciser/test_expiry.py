"""The exerciser's load ends by itself, whatever becomes of the exerciser, and an orderly end leaves no namespace."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from bus.clock import LoopClock
from bus.virtual_loop import run_virtual
from services.cluster import TwinTransport
from services.exerciser.cluster import (
    NAMESPACE,
    create_load,
    deployments_path,
    remove_all,
    remove_namespace,
)
from services.exerciser.plan import PlannedLoad
from twin.inprocess import InProcessTwin
from twin.workloads import open_workload

IMAGE = "pause:3.10"
LOADS = [PlannedLoad(f"exercise-1-{number}", 1, 100, 1024**2) for number in range(3)]
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"


class Cluster:
    """A simulated cluster in virtual time."""

    def __init__(self, clock: LoopClock) -> None:
        workload = open_workload("idle", nodes=2, seed=1)
        self.twin = InProcessTwin.of(workload, seed=1, speed=1.0, clock=clock)
        self.transport = TwinTransport(self.twin)

    def names(self, path: str) -> list[str]:
        """Return the names of a list; none where the namespace is gone."""
        status, body = self.twin.request("GET", path, {}, b"")
        items: list[dict[str, Any]] = json.loads(body).get("items", []) if status == 200 else []
        return sorted(item["metadata"]["name"] for item in items)


def test_what_a_killed_exerciser_leaves_goes_by_itself() -> None:
    """Nobody removes anything: it stands until its time is over, then Deployments, pods and the Job are gone."""
    seen: list[tuple[int, int, int]] = []

    async def main() -> None:
        clock = LoopClock(0)
        cluster = Cluster(clock)
        await create_load(cluster.transport, LOADS, IMAGE, {}, expiry_seconds=120)
        for seconds in (60, 50, 40):
            await clock.sleep(seconds)
            pods = cluster.names(f"/api/v1/namespaces/{NAMESPACE}/pods")
            found = cluster.names(deployments_path(NAMESPACE)), pods, cluster.names(JOBS)
            seen.append(tuple(map(len, found)))  # type: ignore[arg-type]

    run_virtual(main)
    assert seen == [(3, 3, 1), (3, 3, 1), (0, 0, 0)]


def test_each_phase_begins_its_time_anew() -> None:
    """Load of the same name that is put on later lasts as long again."""
    seen: list[int] = []

    async def main() -> None:
        clock = LoopClock(0)
        cluster = Cluster(clock)
        for _ in range(3):
            await create_load(cluster.transport, LOADS, IMAGE, {}, expiry_seconds=120)
            await clock.sleep(90)
            seen.append(len(cluster.names(deployments_path(NAMESPACE))))
            await remove_all(cluster.transport)
            await clock.sleep(5)
        seen.append(len(cluster.names(deployments_path(NAMESPACE))))

    run_virtual(main)
    assert seen == [3, 3, 3, 0]


def test_an_orderly_end_removes_its_own_namespace_alone() -> None:
    """The namespace that the exerciser made goes; one of that name that somebody else made stays."""
    left: list[bool] = []

    async def main() -> None:
        for own in (True, False):
            clock = LoopClock(0)
            cluster = Cluster(clock)
            if own:
                await create_load(cluster.transport, LOADS, IMAGE, {}, expiry_seconds=120)
                await clock.sleep(5)
                await remove_all(cluster.transport)
            else:
                space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
                await cluster.transport.request("POST", "/api/v1/namespaces", body=space)
            removed = await remove_namespace(cluster.transport)
            await asyncio.sleep(30)
            left.append(NAMESPACE in cluster.names("/api/v1/namespaces"))
            assert removed is own

    run_virtual(main)
    assert left == [False, True]
