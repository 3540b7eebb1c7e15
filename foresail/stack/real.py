"""The stack as separate processes over a real nats-server.

Order up: folder lock, workload, nats-server, stream, cluster, services. Order down: sources first,
then everything that still has to answer the last cycle, then the recording is sealed, then the
servers stop. One supervisor holds all of these processes.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bus.cancellation import cancel_and_wait
from bus.clock import Clock, SystemClock
from bus.errors import BusUnavailable, Permanent
from bus.nats_adapter import NatsBus
from bus.recording import RecordingWriter
from foresail import stopping
from foresail.output import console, print_note
from foresail.settings import StackSettings
from foresail.stack.adoption import Adoption
from foresail.stack.clock_rate import rate_note, with_clock_rate
from foresail.stack.cluster import ControlledCluster, start_cluster, with_start
from foresail.stack.disk_space import restart_when_disk_has_room
from foresail.stack.ending import settle, wait_for_cycles
from foresail.stack.health_ports import with_dashboard_port, with_health_ports
from foresail.stack.log_server import LogServer, start_log
from foresail.stack.preflight import check_alone, check_before_start, check_ports
from foresail.stack.processes import LAST_SERVICE, Connections, process_specs
from foresail.stack.real_cluster import check_cluster, early_label, early_note
from foresail.stack.recording import open_writer, seal_or_say
from foresail.stack.run_events import (
    announce_manifest,
    announce_start,
    run_complete,
    run_error,
    run_failed,
)
from foresail.stack.showing import show
from foresail.stack.state_folder import StackFile, StateFolder
from foresail.stack.supervised_processes import ServiceProcess
from foresail.stack.supervisor import Supervisor
from foresail.stack.trace_out import follow_with_trace
from foresail.stack.undo_at_end import UndoneAtEnd, summary_of, undo_at_end
from foresail.stack.watch import Watch
from foresail.stack.workload import ChosenWorkload, choose_workload, with_history
from schemas.envelope import rfc3339
from schemas.identity import Origin

RESTART_INTERVALS = 1.5
"""A process that died comes back after one and a half cycles, so one cycle closes without it."""
SERVERS = ("nats-server", "twin")
"""What the services need, and what `status` lists beside them."""
LAST_SOURCE = 1
"""The largest `stop_order` of what brings something new: exerciser and collector."""


@dataclass
class RunningStack:
    """Everything a running stack holds on to."""

    settings: StackSettings
    state: StateFolder
    origin: Origin
    workload: ChosenWorkload | None
    log: LogServer
    plant: ControlledCluster
    bus: NatsBus
    watch: Watch
    supervisor: Supervisor
    logs: Path
    clock: Clock
    started: str
    dashboard_url: str = ""
    adoption: Adoption = field(init=False)
    health: dict[str, int] = field(default_factory=dict)
    frozen: int = 0
    """Processes that were replaced because they were frozen."""
    running: bool = True
    given_back: UndoneAtEnd | None = None
    """What became at the end of what stood on a cluster of the user's own."""

    @property
    def servers(self) -> dict[str, int]:
        """Process ids of the servers that the stack runs itself."""
        pids = self.supervisor.pids
        return {name: pids[name] for name in SERVERS if name in pids}

    @property
    def services(self) -> dict[str, int]:
        """Process ids of the services; 0 while one is between two starts."""
        return {name: pid for name, pid in self.supervisor.pids.items() if name not in SERVERS}


def run_real_stack(settings: StackSettings, *, quiet: bool) -> dict[str, Any]:
    """Run until told to stop; return the summary.

    Raises:
        InputError: something given does not work; nothing is left running.
    """
    return stopping.run(_run(settings, quiet=quiet))


async def _run(settings: StackSettings, *, quiet: bool) -> dict[str, Any]:
    clock = SystemClock()
    check_alone(Path(settings.run.state_folder))
    check_before_start(settings)
    settings = await check_cluster(settings)
    settings = await with_clock_rate(settings, clock)
    for note in filter(None, (early_note(settings), rate_note(settings))):
        _print_note(note, quiet=quiet)
    state = StateFolder(Path(settings.run.state_folder))
    state.lock()
    state.note_death()
    async with contextlib.AsyncExitStack() as cleanup:
        cleanup.callback(state.unlock)
        stack = await _bring_up(settings, state, clock, cleanup, quiet=quiet)
        watching = asyncio.create_task(stack.watch.run_through_outages(clock), name="watch")
        try:
            status = await _until_stopped(stack, watching, quiet=quiet)
        finally:
            await _bring_down(stack, watching)
        outage = stack.watch.overview.outage
        summary = stack.watch.totals.summary() | {
            "status": status,
            "record": settings.run.record,
            "cluster_outage": None if outage is None else outage.text(),
            **summary_of(stack.given_back),
        }
        await run_complete(stack.bus, stack.origin, summary, clock.wall_ns() / 1e9, status)
        await stack.watch.finish()
    return summary


def _print_note(note: str, *, quiet: bool) -> None:
    """Print it where people look: on stderr when stdout holds JSON alone."""
    if quiet:
        print_note(note)
    else:
        console().print(note, markup=False)


async def _bring_up(
    settings: StackSettings,
    state: StateFolder,
    clock: Clock,
    cleanup: contextlib.AsyncExitStack,
    *,
    quiet: bool,
) -> RunningStack:
    def say(text: str) -> None:
        if not quiet:
            console().print(text, markup=False)

    settings = with_start(settings, clock)
    incarnation = state.new_incarnation()
    folder = state.incarnation(incarnation)
    workload = (
        None if settings.run.kubeconfig else choose_workload(settings.run, folder / "workload")
    )
    check_ports(settings)
    for line in () if workload is None else workload.lines(settings.run.interval_seconds):
        say(line)
    supervisor = Supervisor(clock, patience_seconds=settings.run.frozen_seconds)
    cleanup.push_async_callback(supervisor.stop)
    log = await start_log(settings, incarnation, folder, supervisor)
    say(log.durability)
    plant = await start_cluster(settings, workload, folder, supervisor)
    origin = Origin(settings.run.cluster, incarnation)
    bus = await NatsBus.connect(
        log.url, cluster=origin.cluster, stream=log.stream, login=log.logins["stack"]
    )
    cleanup.push_async_callback(bus.close)
    settings = with_history(plant.settings_in_force(settings), workload, folder / "workload")
    await announce_start(bus, origin, settings, workload, clock.wall_ns() / 1e9)
    await announce_manifest(bus, origin, settings, sys.argv[1:], clock.wall_ns() / 1e9)
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
        supervisor=supervisor,
        logs=folder / "logs",
        clock=clock,
        started=rfc3339(clock.wall_ns() / 1e9),
    )
    cleanup.callback(follow_with_trace(settings.run.trace_out, stack.watch))
    cleanup.push_async_exit(_telling_failure(stack))
    _add_services(stack)
    _keep_running(stack, say, cleanup)
    say(_summary_line(stack))
    return stack


def _telling_failure(stack: RunningStack) -> Callable[..., Coroutine[Any, Any, None]]:
    """Return what says at the end, before the recording is sealed, that an exception ended the run."""

    async def tell(_: Any, error: BaseException | None, __: Any) -> None:
        if error is not None:
            seconds = stack.clock.wall_ns() / 1e9
            await run_failed(stack.bus, stack.origin, error, stack.watch, seconds, stack.frozen + 1)

    return tell


def _open_recording(
    settings: StackSettings,
    origin: Origin,
    workload: ChosenWorkload | None,
    cleanup: contextlib.AsyncExitStack,
) -> RecordingWriter | None:
    """Open the recording that was asked for, if one was; `cleanup` seals it."""
    writer = open_writer(settings, origin, workload)
    if writer is not None:
        cleanup.callback(seal_or_say, writer)
    return writer


def _summary_line(stack: RunningStack) -> str:
    """Return the mode in force and where everything is, in one line."""
    return (
        f"mode {stack.plant.mode}   dashboard {stack.dashboard_url}   log {stack.log.url}   "
        f"cluster {stack.plant.description}"
    )


def _keep_running(
    stack: RunningStack, say: Callable[[str], None], cleanup: contextlib.AsyncExitStack
) -> None:
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

    stack.supervisor.keep(on_change, on_frozen)
    if stack.log.server is not None:
        disk_watch = asyncio.create_task(
            restart_when_disk_has_room(stack.log.server, stack.clock, on_change), name="disk-space"
        )
        cleanup.callback(disk_watch.cancel)


async def _publish_if_possible(event: Coroutine[None, None, None]) -> None:
    """Publish what an operator should see; a log that is away takes nothing."""
    with contextlib.suppress(BusUnavailable, Permanent):
        await event


def _add_services(stack: RunningStack) -> None:
    settings = with_dashboard_port(stack.plant.settings_in_force(stack.settings), stack.supervisor)
    stack.dashboard_url = settings.dashboard.url
    connections = Connections(
        cluster=stack.origin.cluster,
        incarnation=stack.origin.incarnation,
        stream=stack.log.stream,
        nats_url=stack.log.url,
        kubeconfigs=stack.plant.kubeconfigs,
        context=stack.settings.run.context,
        world=() if stack.plant.twin is None else stack.plant.twin.world_arguments(),
        logins=stack.log.logins,
    )
    frozen_seconds = stack.settings.run.frozen_seconds
    specs, stack.health = with_health_ports(
        process_specs(settings, connections), frozen_seconds, stack.supervisor
    )
    first_pause = RESTART_INTERVALS * stack.settings.run.interval_seconds
    services = []
    for spec in specs:
        port = stack.health[spec.name]
        services.append(
            ServiceProcess(spec, stack.logs, first_pause_seconds=first_pause, health_port=port)
        )
    stack.supervisor.add(*services)
    stack.adoption = Adoption(settings, stack.state.path, services)
    if stack.plant.twin is not None:
        stack.health["twin"] = stack.plant.twin.health_port
    _store(stack)


def _note(stack: RunningStack, name: str, what: str) -> str:
    """Keep what happened to a process where people look; return it as a line."""
    line = f"{name} {what}"
    stack.watch.notes.append(line)
    with contextlib.suppress(OSError):  # a full disk must not end the stack
        with (stack.logs / "stack.log").open("a", encoding="utf-8") as log:
            log.write(f"{rfc3339(stack.clock.wall_ns() / 1e9)} {line}\n")
        _store(stack)
    return line


def _store(stack: RunningStack) -> None:
    stack.state.write(
        StackFile(
            cluster=stack.origin.cluster,
            incarnation=stack.origin.incarnation,
            stream=stack.log.stream,
            nats_url=stack.log.url,
            embedded=stack.log.embedded,
            pid=stack.plant.stack_pid,
            dashboard_url=stack.dashboard_url,
            processes=stack.services,
            servers=stack.servers,
            last_ends=dict(stack.supervisor.last_ends),
            health=stack.health,
            mode=stack.plant.mode,
            started=stack.started,
            running=stack.running,
        )
    )


async def _until_stopped(stack: RunningStack, watching: asyncio.Task[None], *, quiet: bool) -> str:
    """Show the run until its time is over, a signal comes, or something fails for good; return how
    it ended.
    """
    stop, run = asyncio.Event(), stack.settings.run
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    waits = {
        asyncio.create_task(stop.wait(), name="signal"),
        asyncio.create_task(stack.adoption.wait(), name="adoption"),
        asyncio.create_task(stack.supervisor.wait_failure(), name="given-up"),
        asyncio.create_task(_show(stack, quiet=quiet), name="show"),
        asyncio.create_task(
            wait_for_cycles(stack.watch, stack.clock, run.max_cycles), name="cycles"
        ),
        watching,
    }
    try:
        done, _ = await asyncio.wait(
            waits, timeout=run.for_seconds, return_when=asyncio.FIRST_COMPLETED
        )
        for task in done:
            task.result()
        return "interrupted" if stop.is_set() else "complete"
    finally:
        await cancel_and_wait(*(waits - {watching}))


async def _show(stack: RunningStack, *, quiet: bool) -> None:
    if quiet:
        await asyncio.Event().wait()
    world = f"{stack.origin.cluster}/{stack.origin.incarnation}"
    what = stack.settings.run.workload if stack.workload else stack.plant.description
    parts = (
        "Foresail",
        world,
        what,
        early_label(stack.settings),
        stack.dashboard_url,
    )
    header = "  ".join([*filter(None, parts), "(Ctrl-C stops)"])
    await show(stack.watch, stack.clock, header, lambda: {**stack.services, **stack.servers})


async def _bring_down(stack: RunningStack, watching: asyncio.Task[None]) -> None:
    """Stop sources, let the last cycle be answered, then stop the rest and read the log to its end."""
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)
    await stack.supervisor.stop(LAST_SOURCE)
    with contextlib.suppress(BusUnavailable, Permanent):
        await settle(stack.watch, stack.clock)
    stack.given_back = await undo_at_end(
        stack.settings, stack.watch, stack.log, stack.origin, stack.clock
    )
    await stack.supervisor.stop(LAST_SERVICE)
    stack.running = False
    _store(stack)
    await cancel_and_wait(watching)
    with contextlib.suppress(BusUnavailable, Permanent):
        await stack.watch.finish()
