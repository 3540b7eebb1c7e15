"""All arms of a benchmark at the same time, each on a simulated cluster in a process or on a cluster of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from bus.clock import Clock
from bus.errors import InputError
from lab.learning.jobs import Amounts, JobStream
from lab.learning.workloads.published import NODE, NODES
from lab.learning.workloads.sources import SourceOptions, settings_of, stream_source
from lab.queue.accounts import ArmResult
from lab.queue.arms import QueueArm, arm_of
from lab.queue.capacity import offered
from lab.queue.playing import QueuePlay, play_arm, prepare
from lab.queue.submitting import remove_jobs
from lab.queue.twin_stage import TwinStage
from services.cluster import Transport

LONGEST_PAUSE_SECONDS = 5.0
"""Of wall time, between two looks at a cluster's clock."""


@dataclass(frozen=True, slots=True)
class ArmTask:
    """One arm on one stream."""

    arm: str
    workload: str
    seed: int
    length_seconds: float
    namespace: str
    settings: str | None = None
    """File of a strategy's templates and intervals; None: as published."""

    def play(self) -> QueuePlay:
        """Return what is played."""
        options = SourceOptions(
            split="test", length_seconds=self.length_seconds, settings=settings_of(self.settings)
        )
        stream = stream_source(self.workload, options)(self.seed)
        return QueuePlay(stream, self.seed, self.length_seconds, self.namespace)


def play_simulated(task: ArmTask) -> ArmResult:
    """Play an arm on a simulated cluster that is new, and equal to that of every other arm.

    A function of the module, so that other processes find it.
    """
    arm, play = arm_of(task.arm, task.seed), task.play()
    quota = play.stream.quota
    machines = round(quota.cpu_millicores / NODE.cpu_millicores) or NODES
    cpu, memory = quota.cpu_millicores // machines, quota.memory_bytes // machines
    stage = TwinStage(machines, cpu, memory, play.seed)

    async def whole() -> ArmResult:
        return await play_arm(stage, arm, play, await prepare(stage, arm, play))

    return asyncio.run(whole())


class LiveStage:
    """A cluster whose time passes by itself, at its own speed, which is measured."""

    def __init__(self, transport: Transport, clock: Clock) -> None:
        """Take a cluster."""
        self._transport, self._clock = transport, clock
        self._first: tuple[float, float] | None = None

    @property
    def transport(self) -> Transport:
        """Its API."""
        return self._transport

    async def sleep_until(self, cluster_seconds: float) -> None:
        """Wait until the cluster's clock says so; raises ClusterUnavailable."""
        while True:
            now = (await self._transport.request("GET", "/version")).cluster_time_seconds
            if now >= cluster_seconds:
                return
            wall = self._clock.monotonic()
            first_wall, first = self._first = self._first or (wall, now)
            rate = (now - first) / (wall - first_wall) if wall > first_wall else 1.0
            pause = (cluster_seconds - now) / max(1.0, rate)
            await self._clock.sleep(min(pause, LONGEST_PAUSE_SECONDS))


@dataclass(frozen=True, slots=True)
class LiveCluster:
    """A cluster that an arm has to itself."""

    name: str
    """As its user knows it."""
    stage: LiveStage


async def equal_amounts(clusters: Sequence[LiveCluster]) -> Amounts:
    """Return what each of the clusters offers.

    Raises:
        InputError: they differ, so that no difference between arms would mean anything.
    """
    amounts = [await offered(one.stage.transport) for one in clusters]
    for one, found in zip(clusters, amounts, strict=True):
        if found != amounts[0]:
            remedy = f"it offers {_words(found)}, {clusters[0].name} {_words(amounts[0])}; give equal clusters"
            raise InputError("--kubeconfig", one.name, remedy)
    return amounts[0]


async def play_live(
    clusters: Sequence[LiveCluster], tasks: Sequence[ArmTask], quota: Amounts
) -> AsyncIterator[ArmResult]:
    """Yield how each arm did, all played at the same time, each on the cluster at its place.

    Raises:
        NotPrepared: a cluster could not be given its queues.
        ClusterUnavailable: one gave no answer.
    """
    plays = [
        _play_live(cluster.stage, arm_of(task.arm, task.seed), _within(task.play(), quota))
        for cluster, task in zip(clusters, tasks, strict=True)
    ]
    for result in await asyncio.gather(*plays):
        yield result


async def _play_live(stage: LiveStage, arm: QueueArm, play: QueuePlay) -> ArmResult:
    version = await prepare(stage, arm, play)
    names = [job.name for job in play.stream.jobs]
    try:
        return await play_arm(stage, arm, play, version)
    finally:
        await remove_jobs(stage.transport, play.namespace, names)


def _within(play: QueuePlay, quota: Amounts) -> QueuePlay:
    """Return what is played with the cluster's own amounts as quota."""
    stream: JobStream = replace(play.stream, quota=replace(quota, gpus=play.stream.quota.gpus))
    return replace(play, stream=stream)


def _words(amounts: Amounts) -> str:
    return f"{amounts.cpu_millicores / 1_000:g} cores and {amounts.memory_bytes / 2**30:.4g} GiB"
