"""The whole stack in one process on virtual time: the same services, the memory bus, the twin's
engine without HTTP.

Nothing here depends on the machine, so one seed gives one recording, byte for byte.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import Callable, Collection, Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from bus.clock import Clock, LoopClock
from bus.errors import ConfigError
from bus.memory_adapter import MemoryBus, MemoryLog
from bus.port import Bus
from bus.virtual_loop import run_virtual
from foresail import stopping
from foresail.dependent_settings import fill_dependent, mode_of
from foresail.output import console
from foresail.progress import Advance, instead_of_log_lines
from foresail.run_settings import RunSettings
from foresail.settings import StackSettings
from foresail.stack.in_process import Instead, service, service_names
from foresail.stack.provisioning import provisioning_of
from foresail.stack.recording import open_writer
from foresail.stack.run_events import announce_start, run_complete, run_failed
from foresail.stack.trace_out import follow_with_trace
from foresail.stack.watch import Watch
from foresail.stack.workload import ChosenWorkload, choose_workload, with_history
from foresail.untouched.common_world import CommonWorld, PartingTransport
from foresail.untouched.service import NAME as UNTOUCHED
from foresail.untouched.service import run as run_untouched
from foresail.untouched.world import MirroredWrites, MirroringTransport
from schemas.envelope import Event
from schemas.identity import Origin
from schemas.outcome import Mode
from services.cluster import Transport
from services.collector.collected import CollectedCycle
from services.executor.settings import HandBack
from services.twin_transport import TwinTransport
from twin.port.api import InProcessTwin
from twin.port.engine import Engine
from twin.port.files import read_scenario
from twin.port.settings import START_2026, HealthConfig, KueueConfig, TwinConfig
from twin.port.workloads import open_workload

INCARNATION = "virtual"
START_WALL_NS = 1_767_225_600_000_000_000
"""2026-01-01T00:00:00Z: recorded times count from here, whenever the run is made."""
STOP_ORDER = ("exerciser", "collector")
SETTLE_INTERVALS = 1.0
RARE_COLLECTIONS = (200_000, 50, 100)
KEPT_MESSAGES = 20_000
"""Readers here follow the tail: what lies far behind it is in the recording, if one was asked for."""


Prepare = Callable[[Engine], None]
Listener = Callable[[Event[Any]], None]
Service = Coroutine[Any, Any, None]
Meter = Callable[[str, Service], Service]


class Branching(Protocol):
    """Who copies the simulated cluster before the executor writes."""

    def executor_transport(
        self, engine: Engine, inner: Transport, bus: Bus, settings: StackSettings
    ) -> Transport:
        """Return the executor's way to the cluster."""
        ...

    def note_collected(self, look: CollectedCycle) -> None:
        """Take in what the collector saw, before it is published."""
        ...


def run_virtual_stack(
    settings: StackSettings,
    *,
    quiet: bool,
    prepare: Prepare | None = None,
    without: Collection[str] = (),
    listener: Listener | None = None,
    meter: Meter | None = None,
    branching: Branching | None = None,
    kueue: KueueConfig | None = None,
    instead: Instead | None = None,
) -> dict[str, Any]:
    """Run for the time asked for and return the summary.

    Args:
        settings: of the whole stack.
        quiet: print and show nothing.
        prepare: called with the simulated cluster before anything happens in it; such a world has no
            untouched one beside it.
        without: names of services that do not run.
        listener: told of every event of the log in order, but of snapshots and of the untouched world.
        meter: called with each service's name and coroutine, and returns what is run in its place.
        branching: told before the executor writes; such a world has no untouched one beside it either.
        kueue: how the simulated cluster serves Kueue; None: it does not.
        instead: called with each handler once the world is prepared, and returns what answers in its place.

    Raises:
        InputError: something given does not work.
    """
    if settings.executor.hand_back is HandBack.COMMAND:
        remedy = "a command takes real time: leave out --virtual-time"
        raise ConfigError("executor.hand_back", settings.executor.hand_back, remedy)
    if settings.collector.prometheus.url:
        remedy = "a Prometheus answers in real time: leave out --virtual-time"
        raise ConfigError("collector.prometheus.url", settings.collector.prometheus.url, remedy)
    with TemporaryDirectory(prefix="foresail-") as folder:
        workload = choose_workload(settings.run, Path(folder))
        run = settings.run.model_copy(
            update={"speed": workload.speed, "mode": str(mode_of(settings, Mode.ACTIVE))}
        )
        filled = with_history(
            fill_dependent(settings.model_copy(update={"run": run})), workload, Path(folder)
        )
        if not quiet:
            for line in workload.description:
                console().print(line, markup=False)
        total = filled.run.end_seconds or 0.0
        with (
            _rare_collections(),
            instead_of_log_lines("simulating", total, quiet=quiet) as advance_to,
        ):
            how = prepare, frozenset(without), listener, meter, branching, kueue, instead
            stage = _VirtualStack(filled, workload, *how)
            return stopping.run(_run(stage, advance_to), lambda whole: run_virtual(lambda: whole))


@dataclass(frozen=True)
class _VirtualStack:
    """What runs, and in which world."""

    settings: StackSettings
    workload: ChosenWorkload
    prepare: Prepare | None
    without: frozenset[str]
    listener: Listener | None
    meter: Meter | None
    branching: Branching | None
    kueue: KueueConfig | None
    instead: Instead | None


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Look for garbage in cycles less often: each look goes over the whole kept log and the whole
    simulated cluster, which costs a quarter of a long run's time and finds next to nothing.
    """
    usual = gc.get_threshold()
    gc.set_threshold(*RARE_COLLECTIONS)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


async def _run(stage: _VirtualStack, advance_to: Advance | None) -> dict[str, Any]:
    settings, workload = stage.settings, stage.workload
    clock = LoopClock(START_WALL_NS)
    origin = Origin(settings.run.cluster, INCARNATION)
    log = MemoryLog(wall_ns=clock.wall_ns, keep_messages=KEPT_MESSAGES)
    bus = MemoryBus(log, origin.cluster)
    await announce_start(bus, origin, settings, workload, clock.wall_ns() / 1e9)
    writer = open_writer(settings, origin, workload)
    watch = Watch(bus, origin.cluster, writer, overview=False)
    if stage.listener is not None:
        watch.listeners.append(stage.listener)
    end_trace = follow_with_trace(settings.run.trace_out, watch)
    if advance_to is not None:
        # By what is stored, not by a timer: one more timer could change the order of the others.
        show = advance_to
        watch.listeners.append(lambda event: show((event.recorded_ns - START_WALL_NS) / 1e9))
    tasks = {
        name: asyncio.create_task(
            service if stage.meter is None else stage.meter(name, service), name=name
        )
        for name, service in _services(stage, log, origin, clock).items()
    }
    watching = asyncio.create_task(watch.run(), name="watch")
    try:
        await _for_seconds(settings.run.end_seconds or 0.0, tasks)
        for name in STOP_ORDER:
            await _cancel(tasks.pop(name, None))
        await clock.sleep(SETTLE_INTERVALS * settings.run.interval_seconds)
        for name in sorted(tasks):
            await _cancel(tasks[name])
        await _cancel(watching)
        await watch.finish()
        summary = watch.totals.summary() | {"status": "complete", "record": settings.run.record}
        await run_complete(bus, origin, summary, clock.wall_ns() / 1e9, "complete")
        await watch.finish()
    except BaseException as error:
        everybody = [*tasks.values(), watching]
        for task in everybody:
            task.cancel()
        await asyncio.gather(*everybody, return_exceptions=True)
        await run_failed(bus, origin, error, watch, clock.wall_ns() / 1e9)
        raise
    finally:
        if writer is not None:
            writer.seal()
        end_trace()
    return summary


def _services(
    stage: _VirtualStack, log: MemoryLog, origin: Origin, clock: Clock
) -> dict[str, Service]:
    """Return every service as a coroutine, each with a connection of its own, as its process would
    have.
    """
    settings, workload = stage.settings, stage.workload
    engine = _engine(settings.run, workload, stage.kueue)
    if stage.prepare is not None:
        stage.prepare(engine)
    twin = InProcessTwin(engine, clock=clock, speed=workload.speed)
    plain = TwinTransport(twin)
    writes = MirroredWrites()
    mirrored = MirroringTransport(plain, writes)
    world = CommonWorld(engine, writes)

    def bus() -> MemoryBus:
        return MemoryBus(log, origin.cluster)

    branching = stage.branching
    alone = stage.prepare is not None or branching is not None
    twice = settings.run.untouched == "on" and not alone
    transports: dict[str, Transport] = (
        {"collector": mirrored, "exerciser": mirrored} if twice else {}
    )
    if twice:
        transports["executor"] = PartingTransport(plain, world)
    on_collected = world.note_collected if twice else None
    if branching is not None:
        transports["executor"] = branching.executor_transport(engine, plain, bus(), settings)
        on_collected = branching.note_collected
    services = {
        name: service(
            name,
            settings,
            bus(),
            clock,
            origin,
            transports.get(name, plain),
            on_collected,
            stage.instead,
        )
        for name in service_names(settings)
        if name not in stage.without
    }
    if twice:
        services[UNTOUCHED] = run_untouched(settings.collector, bus(), clock, origin, world)
    return services


def _engine(run: RunSettings, workload: ChosenWorkload, kueue: KueueConfig | None) -> Engine:
    """Return the simulated cluster at its beginning; each call gives the same."""
    played = open_workload(workload.name_or_path, nodes=run.nodes, seed=run.seed)
    engine = Engine(_twin_config(run, kueue), run.seed)
    engine.add_nodes(played.nodes)
    engine.load(played.arrivals)
    if run.scenario is not None:
        engine.faults.play(read_scenario(Path(run.scenario)))
    return engine


def _twin_config(run: RunSettings, kueue: KueueConfig | None) -> TwinConfig:
    """Return the simulated cluster's settings; its time starts at the fixed moment unless told."""
    start = START_2026 if run.start_time is None else run.start_time.timestamp()
    return TwinConfig(
        start_time=start,
        provisioning=provisioning_of(run),
        health=HealthConfig(weather=run.weather),
        kueue=kueue or KueueConfig(),
    )


async def _for_seconds(seconds: float, tasks: dict[str, asyncio.Task[None]]) -> None:
    """Let time pass; a service that fails ends the run with its own error."""
    done, _ = await asyncio.wait(
        tasks.values(), timeout=seconds, return_when=asyncio.FIRST_COMPLETED
    )
    for task in done:
        task.result()


async def _cancel(task: asyncio.Task[None] | None) -> None:
    if task is not None:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
