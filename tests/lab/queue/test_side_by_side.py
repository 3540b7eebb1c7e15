"""Arms at the same time: each on a cluster of its own, which have to be equal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from bus.errors import InputError
from inputs.clock import ManualClock
from lab.queue.side_by_side import (
    ArmTask,
    LiveCluster,
    LiveStage,
    equal_amounts,
    play_live,
    play_simulated,
)
from tests.lab.queue.conftest import NAMESPACE, World
from twin.port.workloads import NodeShape

MakeWorld = Callable[..., World]
SECONDS = 600.0


class _PassingClock(ManualClock):
    """A clock of a cluster whose time passes sixty times as fast while somebody sleeps."""

    def __init__(self, world: World, worlds: list[World]) -> None:
        super().__init__()
        self._world, self._worlds = world, worlds
        self.apart: list[float] = []

    async def sleep(self, seconds: float) -> None:
        """Let time pass here, and the others go on."""
        self._world.engine.advance(self._world.engine.now + 60.0 * seconds)
        await super().sleep(seconds)
        await asyncio.sleep(0)
        times = [world.engine.now for world in self._worlds]
        self.apart.append(max(times) - min(times))


async def test_arms_play_at_the_same_time(make_world: MakeWorld) -> None:
    """Neither waits for the other to end; every job is in one state, and all are deleted afterwards."""
    worlds = [make_world(), make_world()]
    clocks = [_PassingClock(world, worlds) for world in worlds]
    clusters = [
        LiveCluster(str(place), LiveStage(world.transport, clock))
        for place, (world, clock) in enumerate(zip(worlds, clocks, strict=True))
    ]
    names = ("kueue-best-effort-fifo", "sjf+fit")
    tasks = [ArmTask(name, "uniform", 1, SECONDS, NAMESPACE) for name in names]
    quota = await equal_amounts(clusters)
    results = [one async for one in play_live(clusters, tasks, quota)]
    assert [one.arm for one in results] == list(names)
    jobs = len(tasks[0].play().stream.jobs)
    assert all(sum(one.accounts.values()) == jobs for one in results)
    assert all(one.accounts["completed"] + one.accounts["running"] > 3 for one in results)
    assert max(clocks[0].apart) < SECONDS / 2
    for world in worlds:
        world.engine.advance(world.engine.now + 60.0)
        assert not list(world.engine.store.list("jobs"))


async def test_clusters_that_differ_are_refused(make_world: MakeWorld) -> None:
    """Their difference would look like one of the arms."""
    small, large = make_world(), make_world()
    large.engine.add_nodes([NodeShape("n3", 4_000, 16 * 2**30, 0, {})])
    large.engine.advance(large.engine.now + 2.0)
    clusters = [
        LiveCluster(name, LiveStage(world.transport, ManualClock()))
        for name, world in (("small", small), ("large", large))
    ]
    with pytest.raises(InputError, match="it offers 12 cores and 48 GiB, small 8 cores"):
        await equal_amounts(clusters)


def test_on_a_simulated_cluster_an_arm_plays_in_a_process_of_its_own() -> None:
    """A plain function of plain values, whose result is the same wherever it is played."""
    task = ArmTask("random", "published", 1, 300.0, NAMESPACE)
    assert play_simulated(task) == play_simulated(task)
