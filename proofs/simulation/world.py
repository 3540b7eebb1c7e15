"""One simulated run: the whole pipeline in one process, on virtual time, under a plan of faults."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from random import Random

import structlog

from bus.clock import LoopClock
from bus.errors import AnotherWriter, ForesailError
from bus.memory_adapter import MemoryLog
from bus.port import StoredMessage
from bus.virtual_loop import run_virtual
from foresail.dependent_settings import fill_dependent
from foresail.settings import StackSettings, resolve
from foresail.stack.in_process import service, service_names
from foresail.stack.virtual import INCARNATION, START_WALL_NS
from proofs.simulation.log_monitor import LogMonitor, late_cycles
from proofs.simulation.plan import INTERVAL_SECONDS, SOURCES, FaultPlan
from proofs.simulation.stepped_io import Crash, JumpingClock, SteppedBus, SteppedTransport, Steps
from schemas.identity import Origin
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.workloads import open_workload

NODES = 8
TROUBLE_CYCLES = 40
"""Cycles with faults; afterwards everything works and the log has to come right."""
CALM_CYCLES = 8
LEAST_CALM_DECISIONS = 4
"""Decided cycles without which the calm end shows nothing: a hit collector is back within three of the eight."""
SETTLE_SECONDS = 60.0
RESTART_SECONDS = 7.0
FROZEN_SECONDS = 60.0
END_SECONDS = 30.0


@dataclass
class RunResult:
    """What a run left behind."""

    plan: FaultPlan
    messages: list[StoredMessage]
    problems: list[str]
    """What the watchman saw, and processes that ended as they never should."""
    starts: dict[str, int]
    crashes: int
    superseded_writers: int = 0
    """Processes that stopped because another writer lives."""
    calm_from_ns: int = 0
    """When the faults ended, on the log's clock."""


@dataclass
class SimulatedRun:
    """Everything of one run."""

    plan: FaultPlan
    settings: StackSettings
    origin: Origin
    log: MemoryLog
    twin: InProcessTwin
    monitor: LogMonitor
    starts: dict[str, int] = field(default_factory=dict)
    living: dict[str, Steps] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    crashes: int = 0
    another_writer: int = 0
    calm: bool = False

    async def keep(self, process: str) -> None:
        """Run a process, and start it again whenever it ends."""
        me = asyncio.current_task()
        assert me is not None
        while not me.cancelling():
            await self._run_once(process)
            await asyncio.sleep(RESTART_SECONDS * (1 + Random(len(self.log.messages)).random()))

    async def _run_once(self, process: str) -> None:
        start = self.starts[process] = self.starts.get(process, 0) + 1
        plan = FaultPlan(self.plan.seed) if self.calm else self.plan
        steps = self.living[process] = Steps(plan, process, start)
        bus = SteppedBus(self.log, self.origin.cluster, plan.faults_of(process, start))
        bus.steps = steps
        transport = SteppedTransport(
            TwinTransport(self.twin),
            steps,
            self.monitor.on_write if process == "executor" else lambda _method, _path: None,
        )
        clock = JumpingClock(START_WALL_NS, steps)
        task = asyncio.ensure_future(
            service(process, self.settings, bus, clock, self.origin, transport)
        )
        steps.task = task
        me = asyncio.current_task()
        assert me is not None
        try:
            await task
        except Crash:
            self.crashes += 1
        except asyncio.CancelledError:
            if me.cancelling():
                raise
            self.crashes += 1
        except AnotherWriter as error:
            self.another_writer += 1
            if not self.plan.zombie or process != "referee":
                self.problems.append(f"{process} stopped without a rival: {error}")
        except ForesailError:
            self.crashes += 1  # a supervisor starts it again
        except Exception as error:  # noqa: BLE001 - any defect of the product is a finding
            self.problems.append(f"{process} failed: {error!r}")
        finally:
            steps.dead = True
            task.cancel()

    async def have_outage(self) -> None:
        """Keep one process away for longer than the server remembers message ids."""
        await asyncio.sleep(10 * INTERVAL_SECONDS)
        steps = self.living[self.plan.outage]
        steps.freeze()
        await asyncio.sleep(self.plan.outage_seconds)
        steps.die()

    async def wake_a_zombie(self) -> None:
        """Freeze the referee, let a second one rule, then wake the first."""
        await asyncio.sleep(10 * INTERVAL_SECONDS)
        steps = self.living["referee"]
        steps.freeze()
        second = asyncio.create_task(self.keep("referee"), name="second referee")
        await asyncio.sleep(FROZEN_SECONDS)
        steps.thaw()
        await asyncio.sleep(10 * INTERVAL_SECONDS)
        second.cancel()
        await asyncio.gather(second, return_exceptions=True)


def run(
    plan: FaultPlan, *, mode: str = "active", trouble_cycles: int = TROUBLE_CYCLES
) -> RunResult:
    """Run one plan to its calm end; the same plan gives the same log."""
    settings = _settings(plan.world, mode)
    before = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        return run_virtual(lambda: _run(plan, settings, trouble_cycles))
    finally:
        structlog.configure(**before)


def _settings(seed: int, mode: str) -> StackSettings:
    flags = {
        "run.virtual_time": True,
        "run.for_seconds": 1.0,
        "run.interval_seconds": INTERVAL_SECONDS,
        "run.nodes": NODES,
        "run.seed": seed,
        "run.speed": 1.0,
        "run.workload": "openb",
        "run.exercise": True,
        # A phase that waits for what it intends would make the world follow from the faults.
        "exerciser.patience_cycles": 0,
        "run.mode": mode,
    }
    return fill_dependent(resolve(None, {}, flags))


async def _run(plan: FaultPlan, settings: StackSettings, trouble_cycles: int) -> RunResult:
    clock = LoopClock(START_WALL_NS)
    origin = Origin(settings.run.cluster, INCARNATION)
    log = MemoryLog(wall_ns=clock.wall_ns)
    workload = open_workload("openb", nodes=NODES, seed=plan.world)
    pauses = plan.pause_seconds if plan.pause else 0.0
    slack = late_cycles(pauses + 8 * plan.jitter_seconds, INTERVAL_SECONDS)
    twin = InProcessTwin.of(workload, seed=plan.world, speed=1.0, clock=clock)
    world = SimulatedRun(
        plan, settings, origin, log, twin, LogMonitor(origin, settings.executor, slack)
    )
    log.feeds.append(world.monitor.on_stored)
    names = service_names(settings)
    tasks = {name: asyncio.create_task(world.keep(name), name=name) for name in names}
    trouble = _cause_trouble(world)
    await asyncio.sleep(trouble_cycles * INTERVAL_SECONDS)
    await _calm_down(world, trouble)
    calm_from_ns = clock.wall_ns()
    await asyncio.sleep((CALM_CYCLES - 0.5) * INTERVAL_SECONDS)
    for name in SOURCES:
        tasks.pop(name).cancel()
    await asyncio.sleep(SETTLE_SECONDS)
    await _end(world, tasks)
    problems = [*world.monitor.problems, *world.problems]
    return RunResult(
        plan,
        log.messages,
        problems,
        world.starts,
        world.crashes,
        world.another_writer,
        calm_from_ns,
    )


async def _end(world: SimulatedRun, tasks: dict[str, asyncio.Task[None]]) -> None:
    """Stop every process; one that does not end on request is a problem of its own."""
    for task in tasks.values():
        task.cancel()
    _, left = await asyncio.wait(tasks.values(), timeout=END_SECONDS)
    for task in left:
        world.problems.append(f"{task.get_name()} did not end within {END_SECONDS:g} s")
        task.cancel()


def _cause_trouble(world: SimulatedRun) -> list[asyncio.Task[None]]:
    trouble = []
    if world.plan.outage:
        trouble.append(asyncio.create_task(world.have_outage(), name="outage"))
    if world.plan.zombie:
        trouble.append(asyncio.create_task(world.wake_a_zombie(), name="zombie"))
    return trouble


async def _calm_down(world: SimulatedRun, trouble: list[asyncio.Task[None]]) -> None:
    """End all faults: each process that was hit restarts with a good connection."""
    world.calm = True
    await asyncio.gather(*trouble)
    for process, steps in world.living.items():
        if process in world.plan.hit:
            steps.die()
