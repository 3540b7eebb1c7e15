"""What a running stack of one cluster is made of, and how it comes up: log, cluster, services, and their keeper."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path

from bus.clock import Clock
from bus.errors import BusUnavailable, Permanent
from bus.nats_adapter import NatsBus
from bus.nats_server import free_port
from bus.recording import RecordingWriter
from foresail.output import print_error
from foresail.settings import StackSettings
from foresail.stack.cluster import Plant, start_plant, with_start
from foresail.stack.common_server import CommonServer
from foresail.stack.disk_space import restart_when_disk_has_room
from foresail.stack.giving_back import GivenBack
from foresail.stack.health_ports import with_health_ports
from foresail.stack.keeper import Keeper
from foresail.stack.kept_processes import ServiceProcess
from foresail.stack.log_server import LogServer, start_log
from foresail.stack.processes import Connections, process_specs, stack_id
from foresail.stack.recording import open_writer
from foresail.stack.run_events import announce_start, run_error
from foresail.stack.state_folder import StackFile, StateFolder
from foresail.stack.watch import Watch
from foresail.stack.workload import ChosenWorkload, choose_workload
from schemas.envelope import rfc3339
from schemas.identity import Origin

RESTART_INTERVALS = 1.5
"""A process that died comes back after one and a half cycles, so one cycle closes without it."""
SERVERS = ("nats-server", "twin")
"""What the services need, and what `status` lists beside them."""
Say = Callable[[str], None]
"""Takes a line for people."""


@dataclass
class RunningStack:
    """Everything a running stack holds on to."""

    settings: StackSettings
    state: StateFolder
    origin: Origin
    workload: ChosenWorkload | None
    log: LogServer
    plant: Plant
    bus: NatsBus
    watch: Watch
    keeper: Keeper
    logs: Path
    clock: Clock
    started: str
    dashboard_url: str = ""
    health: dict[str, int] = field(default_factory=dict)
    frozen: int = 0
    """Processes that were replaced because they were frozen."""
    running: bool = True
    given_back: GivenBack | None = None
    """What became at the end of what stood on a cluster of the user's own."""
    common: CommonServer | None = None
    """The server that this cluster shares with others; None where it has one of its own."""

    @property
    def servers(self) -> dict[str, int]:
        """Process ids of the servers that the stack runs itself."""
        common = {} if self.common is None else self.common.keeper.pids
        pids = {**common, **self.keeper.pids}
        return {name: pids[name] for name in SERVERS if name in pids}

    @property
    def services(self) -> dict[str, int]:
        """Process ids of the services; 0 while one is between two starts."""
        return {name: pid for name, pid in self.keeper.pids.items() if name not in SERVERS}


async def bring_up(
    settings: StackSettings,
    state: StateFolder,
    clock: Clock,
    cleanup: contextlib.AsyncExitStack,
    say: Say,
    common: CommonServer | None = None,
) -> RunningStack:
    """Start everything of one cluster, which `cleanup` stops; `common` is the server of several clusters.

    Raises:
        ForesailError: something given does not work, or the server does not answer.
    """
    settings = with_start(settings, clock)
    incarnation = (
        state.new_incarnation() if common is None else common.incarnation(settings.run.cluster)
    )
    folder = state.incarnation(incarnation)
    workload = (
        None if settings.run.kubeconfig else choose_workload(settings.run, folder / "workload")
    )
    for line in () if workload is None else workload.lines(settings.run.interval_seconds):
        say(line)
    keeper = Keeper(clock, patience_seconds=settings.run.frozen_seconds)
    cleanup.push_async_callback(keeper.stop)
    if common is None:
        log = await start_log(settings, incarnation, folder, keeper)
        say(log.durability)
    else:
        log = await common.log_of(settings)
    plant = await start_plant(settings, workload, folder, keeper)
    origin = Origin(settings.run.cluster, incarnation)
    bus = await NatsBus.connect(
        log.url, cluster=origin.cluster, stream=log.stream, login=log.logins["stack"]
    )
    cleanup.push_async_callback(bus.close)
    settings = plant.settings_in_force(settings)
    await announce_start(bus, origin, settings, workload, clock.wall_ns() / 1e9)
    writer = _open_recording(settings, origin, workload, cleanup)

    stack = RunningStack(
        settings=settings,
        state=state,
        origin=origin,
        workload=workload,
        log=log,
        plant=plant,
        bus=bus,
        watch=Watch(bus, origin.cluster, writer),
        keeper=keeper,
        logs=folder / "logs",
        clock=clock,
        started=rfc3339(clock.wall_ns() / 1e9),
        common=common,
    )
    _add_services(stack)
    _keep_running(stack, say, cleanup)
    say(_summary_line(stack))
    return stack


def _open_recording(
    settings: StackSettings,
    origin: Origin,
    workload: ChosenWorkload | None,
    cleanup: contextlib.AsyncExitStack,
) -> RecordingWriter | None:
    """Open the recording that was asked for, if one was; `cleanup` seals it."""
    writer = open_writer(settings, origin, workload)
    if writer is not None:
        cleanup.callback(_seal, writer)
    return writer


def _summary_line(stack: RunningStack) -> str:
    """Return the mode in force and where everything is, in one line."""
    return (
        f"mode {stack.plant.mode}   dashboard {stack.dashboard_url}   log {stack.log.url}   "
        f"cluster {stack.plant.description}"
    )


def _keep_running(stack: RunningStack, say: Say, cleanup: contextlib.AsyncExitStack) -> None:
    """Keep every process running and the log's disk in view until `cleanup`; print what happens."""
    publishing: set[asyncio.Task[None]] = set()

    def on_change(name: str, what: str) -> None:
        line = _note(stack, name, what)
        if what != "started":
            say(line)

    def on_frozen(name: str, why: str) -> None:
        stack.frozen += 1
        on_change(name, why)
        seconds = stack.clock.wall_ns() / 1e9
        event = run_error(stack.bus, stack.origin, f"{name} {why}", stack.frozen, seconds)
        task = asyncio.create_task(_publish_if_possible(event), name="publish-frozen")
        publishing.add(task)
        task.add_done_callback(publishing.discard)

    stack.keeper.keep(on_change, on_frozen)
    if stack.log.server is not None:
        disk_watch = asyncio.create_task(
            restart_when_disk_has_room(stack.log.server, stack.clock, on_change), name="disk-space"
        )
        cleanup.callback(disk_watch.cancel)


async def _publish_if_possible(event: Coroutine[None, None, None]) -> None:
    """Publish what an operator should see; a log that is away takes nothing."""
    with contextlib.suppress(BusUnavailable, Permanent):
        await event


def _seal(writer: RecordingWriter) -> None:
    """Seal the recording; one that has no room for its end stays readable up to there."""
    try:
        writer.seal()
    except OSError as error:
        print_error(f"the recording could not be sealed ({error.strerror})")


def _add_services(stack: RunningStack) -> None:
    settings = with_dashboard_port(stack.plant.settings_in_force(stack.settings))
    stack.dashboard_url = f"http://127.0.0.1:{settings.dashboard.port}"
    connections = Connections(
        cluster=stack.origin.cluster,
        incarnation=stack.origin.incarnation,
        stream=stack.log.stream,
        nats_url=stack.log.url,
        kubeconfigs=stack.plant.kubeconfigs,
        context=stack.settings.run.context,
        world=() if stack.plant.twin is None else stack.plant.twin.world_arguments(),
        stack_id=stack_id(stack.origin, stack.clock.wall_ns()),
        logins=stack.log.logins,
    )
    frozen_seconds = stack.settings.run.frozen_seconds
    specs, stack.health = with_health_ports(process_specs(settings, connections), frozen_seconds)
    first_pause = RESTART_INTERVALS * stack.settings.run.interval_seconds
    for spec in specs:
        port = stack.health[spec.name]
        stack.keeper.add(
            ServiceProcess(spec, stack.logs, first_pause_seconds=first_pause, health_port=port)
        )
    if stack.plant.twin is not None:
        stack.health["twin"] = stack.plant.twin.health_port
    store(stack)


def with_dashboard_port(settings: StackSettings) -> StackSettings:
    """Return the settings with a free dashboard port where 0 asks for one."""
    if settings.dashboard.port != 0:
        return settings
    chosen = settings.dashboard.model_copy(update={"port": free_port()})
    return settings.model_copy(update={"dashboard": chosen})


def _note(stack: RunningStack, name: str, what: str) -> str:
    """Keep what happened to a process where people look; return it as a line."""
    line = f"{name} {what}"
    stack.watch.notes.append(line)
    with contextlib.suppress(OSError):  # a full disk must not end the stack
        with (stack.logs / "stack.log").open("a", encoding="utf-8") as log:
            log.write(f"{rfc3339(stack.clock.wall_ns() / 1e9)} {line}\n")
        store(stack)
    return line


def store(stack: RunningStack) -> None:
    """Store where the stack listens, for other verbs."""
    stack.state.write(
        StackFile(
            cluster=stack.origin.cluster,
            incarnation=stack.origin.incarnation,
            stream=stack.log.stream,
            nats_url=stack.log.url,
            embedded=stack.log.embedded,
            pid=stack.plant.stack_pid,
            dashboard_url=stack.dashboard_url,
            metrics_url=stack.plant.metrics_url,
            bus_folder="" if stack.common is None else stack.common.seen_from(stack.state),
            processes=stack.services,
            servers=stack.servers,
            last_ends=dict(stack.keeper.last_ends),
            health=stack.health,
            mode=stack.plant.mode,
            started=stack.started,
            running=stack.running,
        )
    )
