"""A busy cluster of any size as the collector would have recorded it: input of the benchmarks.

The first cycle goes through the collector's whole path: API lists of nodes with 30 pods each (of
random workloads), decoded, assembled, observed, framed. Later cycles change the assembled tables as
a live cluster does (usage of every node each 15 s of cluster time, some pods each cycle) and go
through observe, frames and stamps again. The result is a recording of our own format, kept in
`.cache/` beside this file and made once per size and seed.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bus.clock import SystemClock
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import StoredMessage
from bus.recording.reader import open_recording
from bus.recording.writer import RecordingWriter
from schemas.envelope import rfc3339
from schemas.identity import Origin
from schemas.snapshot import NodeTable, PlacementTable, PodTable, WorkloadTable
from schemas.tables import table_of
from schemas.work import LATENCY_BOUNDS, MOST_SERVICES, ServiceCounters, WorkCounters
from services.cluster import JSON, Transport
from services.collector.assemble import assemble
from services.collector.cluster import read_every_list
from services.collector.pod_rows import SnapshotLimits
from services.collector.service import Collector
from services.collector.settings import CollectorSettings
from services.collector.snapshot import Snapshot
from services.twin_transport import TwinTransport

CLUSTER = "bench"
INCARNATION = "1"
PODS_A_NODE = 30
START_SECONDS = 1_767_225_600.0
INTERVAL_SECONDS = 5.0
SCRAPE_CYCLES = 3
"""Metrics Server samples every 15 s: usage changes in every third cycle."""
CHANGED_SHARE = 0.002
"""Nodes whose pods change in one cycle."""
WAITING = 10
"""Pods that wait for capacity at any time, some of them others than the cycle before."""
SHORT_SERVICES = 20
"""Of so many Services one is short of replicas."""
GIB = 2**30
CACHE = Path(__file__).parent / ".cache"


def messages_of(
    nodes: int, cycles: int, seed: int, tick: Callable[[], None] = lambda: None
) -> list[StoredMessage]:
    """Return what the collector published in `cycles` cycles, from the cache if it is there."""
    CACHE.mkdir(exist_ok=True)
    path = CACHE / f"scene-3-{nodes}-{cycles}-{seed}.fslog"
    if not path.exists():
        part = path.with_suffix(f".{time.monotonic_ns()}")
        writer = RecordingWriter(part, {"cluster": CLUSTER, "incarnation": INCARNATION})
        for message in asyncio.run(_collect(nodes, cycles, seed, tick)):
            writer.write(message)
        writer.seal()
        part.rename(path)
    return list(open_recording(path))


async def _collect(
    nodes: int, cycles: int, seed: int, tick: Callable[[], None]
) -> list[StoredMessage]:
    log = MemoryLog(wall_ns=lambda: int(START_SECONDS * 1e9))
    origin = Origin(CLUSTER, INCARNATION)
    transport = TwinTransport(Lists(nodes, seed))
    reading = await read_every_list(transport, START_SECONDS)
    cuts = SnapshotLimits(START_SECONDS, 300.0, CollectorSettings().listed_pods)
    first = assemble(reading, START_SECONDS, cuts, simulated=True)
    first = replace(first, work=_work_of(first.workloads))
    bus = MemoryBus(log, CLUSTER)
    collector = SceneCollector(
        CollectorSettings(interval_seconds=INTERVAL_SECONDS), bus, SystemClock(), origin, transport
    )
    collector.scene, collector.random = first, random.Random(seed)
    for _ in range(cycles):
        await collector.collect_once()
        tick()
    await bus.close()
    return log.messages


async def scenes(transport: Transport, seed: int, count: int = 60) -> list[Snapshot]:
    """Return some successive snapshots of the cluster behind `transport`."""
    reading = await read_every_list(transport, START_SECONDS)
    now = max(source.read_time_seconds for source in reading.sources)
    cuts = SnapshotLimits(now, 300.0, CollectorSettings().listed_pods)
    snapshots, dice = [assemble(reading, now, cuts, simulated=True)], random.Random(seed)
    for cycle in range(1, count):
        snapshots.append(moved_on(snapshots[-1], cycle, dice))
    return snapshots


class SceneCollector(Collector):
    """The collector, looking at a scene that moves on with each look."""

    scene: Snapshot
    random: random.Random

    async def _read_cluster(self) -> Snapshot | None:
        if self.cycle:
            self.scene = moved_on(self.scene, self.cycle, self.random)
        return self.scene


def moved_on(scene: Snapshot, cycle: int, dice: random.Random) -> Snapshot:
    """Return the scene one interval later."""
    now = scene.cluster_time_seconds + INTERVAL_SECONDS
    nodes = _vary_usage(scene.nodes, now, dice) if cycle % SCRAPE_CYCLES == 0 else scene.nodes
    sources = tuple(
        source.model_copy(update={"read_time_seconds": now, "resource_version": str(cycle)})
        for source in scene.sources
    )
    return replace(
        scene,
        cluster_time_seconds=now,
        sources=sources,
        nodes=nodes,
        placements=_vary_placements(scene.placements, dice),
        pods=_waiting(now, cycle),
        work=None if scene.work is None else _serve(scene.work, dice),
    )


def _work_of(workloads: WorkloadTable) -> WorkCounters:
    """Return counters of a Service before each Deployment, as many as travel."""
    return WorkCounters(
        services=tuple(
            ServiceCounters(
                service=workload.replace("Deployment/", ""),
                served=0.0,
                failed=0.0,
                lost=0.0,
                served_within=(0.0,) * len(LATENCY_BOUNDS),
                workload=workload,
            )
            for workload in sorted(workloads.ids)[:MOST_SERVICES]
        )
    )


def _serve(work: WorkCounters, dice: random.Random) -> WorkCounters:
    """Let every Service answer for an interval; one in twenty fails a tenth, as where replicas are short."""
    services = []
    for place, one in enumerate(work.services or ()):
        requests = INTERVAL_SECONDS * dice.uniform(50.0, 500.0)
        failed = requests / 10.0 if place % SHORT_SERVICES == 0 else 0.0
        served = requests - failed
        within = [
            count + served * min(1.0, bound / 0.5)
            for count, bound in zip(one.served_within, LATENCY_BOUNDS, strict=True)
        ]
        services.append(
            ServiceCounters(
                service=one.service,
                served=one.served + served,
                failed=one.failed + failed,
                lost=0.0,
                served_within=tuple(within),
                workload=one.workload,
            )
        )
    return work.model_copy(update={"services": tuple(services)})


def _vary_usage(table: NodeTable, now: float, dice: random.Random) -> NodeTable:
    """Let every node's usage wander and give it a fresh time stamp."""
    cpu = tuple(
        round(min(cores, max(0.1, (used or 1.0) * dice.uniform(0.9, 1.1))), 6)
        for used, cores in zip(table.cpu_usage_cores, table.cpu_allocatable_cores, strict=True)
    )
    memory = tuple(
        int(min(most, max(GIB, (used or GIB) * dice.uniform(0.98, 1.02)))) // 4096 * 4096
        for used, most in zip(table.memory_usage_bytes, table.memory_allocatable_bytes, strict=True)
    )
    at = tuple(now - dice.randrange(0, 10) for _ in table.ids)
    return NodeTable.model_validate(
        {
            **dict(table),
            "cpu_usage_cores": cpu,
            "memory_usage_bytes": memory,
            "usage_time_seconds": at,
        }
    )


def _vary_placements(table: PlacementTable, dice: random.Random) -> PlacementTable:
    """Let a pod start or end on a few nodes."""
    pods, cpu, memory = (
        list(table.pods),
        list(table.cpu_request_cores),
        list(table.memory_request_bytes),
    )
    for _ in range(min(len(table), max(1, round(len(table) * CHANGED_SHARE)))):
        row = dice.randrange(len(table))
        step = 1 if pods[row] < 2 or dice.random() < 0.5 else -1
        cpu[row] = round(cpu[row] * (pods[row] + step) / pods[row], 6)
        memory[row] = memory[row] * (pods[row] + step) // pods[row]
        pods[row] += step
    return PlacementTable.model_validate(
        {
            **dict(table),
            "pods": tuple(pods),
            "cpu_request_cores": tuple(cpu),
            "memory_request_bytes": tuple(memory),
        }
    )


def _waiting(now: float, cycle: int) -> PodTable:
    """Return the pods that wait for capacity; one leaves and one comes each cycle."""
    rows = {
        f"shop/waiting-{number:06}": {
            "uid": f"waiting-{number}",
            "node": "",
            "workload": "shop/Deployment/web-00001",
            "phase": "Pending",
            "ready": False,
            "restarts": 0,
            "status_reason": "Unschedulable",
            "status_message": "0/1 nodes are available: 1 Insufficient cpu.",
            "cpu_request_cores": 1.0,
            "memory_request_bytes": GIB,
            "gpus_requested": 0,
            "priority": 0,
            "created_time_seconds": now - (cycle - number + WAITING) * INTERVAL_SECONDS,
            "scheduled_time_seconds": None,
            "started_time_seconds": None,
            "ended_time_seconds": None,
            "deleting": False,
        }
        for number in range(cycle, cycle + WAITING)
    }
    return table_of(PodTable, rows)


class Lists:
    """The API lists of a busy cluster, made page by page; see `services.cluster.InProcessCluster`."""

    now = START_SECONDS

    def __init__(self, nodes: int, seed: int) -> None:
        """Serve `nodes` nodes of 32 cores and 128 GiB."""
        self._nodes = nodes
        self._workloads = max(5, nodes * PODS_A_NODE // 50)
        self._seed = seed

    def request(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        body: bytes,
        content_type: str = JSON,
    ) -> tuple[int, bytes]:
        """Answer one request."""
        del method, body, content_type
        makers = {
            "/api/v1/nodes": (self._node, self._nodes),
            "/api/v1/pods": (self._pod, self._nodes * PODS_A_NODE),
            "/apis/apps/v1/deployments": (self._deployment, self._workloads),
            "/apis/metrics.k8s.io/v1beta1/nodes": (self._usage, self._nodes),
        }
        if path == "/version":
            return 200, b'{"gitVersion":"v1.34.0+foresail"}'
        make, count = makers.get(path, (self._node, 0))
        first, size = int(query.get("continue", "0")), int(query["limit"])
        last = min(count, first + size)
        metadata = {"resourceVersion": "1", "continue": str(last) if last < count else ""}
        items = [make(number) for number in range(first, last)]
        return 200, json.dumps({"metadata": metadata, "items": items}).encode()

    def _node(self, number: int) -> dict[str, Any]:
        at = _stamp(START_SECONDS - 86_400)
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": at}
        return {
            "metadata": {"name": f"node-{number:05}", "creationTimestamp": at},
            "spec": {},
            "status": {
                "allocatable": {"cpu": "32", "memory": "128Gi", "pods": "110"},
                "conditions": [ready],
            },
        }

    def _pod(self, number: int) -> dict[str, Any]:
        dice = random.Random(self._seed * 1_000_003 + number)
        workload, at = dice.randrange(self._workloads), _stamp(START_SECONDS - 3_600)
        requests = {
            "cpu": f"{dice.choice((250, 500, 750, 1000))}m",
            "memory": f"{dice.choice((1, 2, 4))}Gi",
        }
        owner = {
            "kind": "ReplicaSet",
            "name": f"web-{workload:05}-6d4f9c7b8d",
            "apiVersion": "apps/v1",
            "controller": True,
        }
        conditions = [
            {"type": kind, "status": "True", "lastTransitionTime": at}
            for kind in ("Ready", "PodScheduled")
        ]
        return {
            "metadata": {
                "name": f"web-{workload:05}-6d4f9c7b8d-{number:06}",
                "namespace": f"team-{workload % 40:02}",
                "uid": f"00000000-0000-4000-8000-{number:012}",
                "creationTimestamp": at,
                "labels": {"pod-template-hash": "6d4f9c7b8d"},
                "ownerReferences": [owner],
            },
            "spec": {
                "nodeName": f"node-{number // PODS_A_NODE:05}",
                "containers": [{"resources": {"requests": requests}}],
            },
            "status": {"phase": "Running", "conditions": conditions},
        }

    def _deployment(self, number: int) -> dict[str, Any]:
        at = _stamp(START_SECONDS - 86_400)
        return {
            "metadata": {
                "name": f"web-{number:05}",
                "namespace": f"team-{number % 40:02}",
                "creationTimestamp": at,
            },
            "spec": {"replicas": 50},
            "status": {"readyReplicas": 50},
        }

    def _usage(self, number: int) -> dict[str, Any]:
        dice = random.Random(self._seed * 7_919 + number)
        usage = {"cpu": f"{dice.randrange(2000, 20000)}m", "memory": f"{dice.randrange(16, 80)}Gi"}
        at = _stamp(START_SECONDS - dice.randrange(0, 10))
        return {"metadata": {"name": f"node-{number:05}"}, "timestamp": at, "usage": usage}


def _stamp(seconds: float) -> str:
    return rfc3339(seconds)[:19] + "Z"
