"""`python -m twin`: the embedded cluster as a process of its own.

Prints one line of JSON when it is ready: `address`, `version`, and for each identity of
`twin.api.access` the path of its own kubeconfig, such as `admin_kubeconfig`.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial

import structlog
import uvicorn

from inputs.clock import Clock, SystemClock
from inputs.errors import ConfigError, InputError
from twin.api.account_tokens import AccountTokens
from twin.api.auditing import AuditedServer, AuditLog
from twin.api.certificates import Credentials, prepare
from twin.api.connections import MOST_CONNECTIONS, MOST_HANDSHAKES, create_server
from twin.api.discovery import VERSION
from twin.api.journal import MARK_SECONDS, Journal, JournalUnwritable
from twin.api.server import ApiServer
from twin.api.tokens import Tokens
from twin.config import TwinConfig
from twin.config.access import AccessConfig
from twin.config.behaviour import KubeletConfig
from twin.config.controllers import ControllerConfig
from twin.config.health import HealthConfig
from twin.config.parts import SCHEDULER, resources_without
from twin.config.scheduling import SchedulerConfig
from twin.engine import Engine
from twin.faults import read_scenario
from twin.kubeconfig import write_kubeconfig
from twin.local_commands import LOCAL_IMAGE, runner_of
from twin.local_pods.limits import ProcessLimits
from twin.local_pods.runner import Runner
from twin.pace import Pace
from twin.resuming import Checkpoints, resume
from twin.settings import TwinSettings, kueue_of, parts_left_out, provisioning_of, read_settings
from twin.workloads import open_workload
from twin.world_settings import start_of, with_start, world_of

_LOG = structlog.get_logger("twin")
RARE_COLLECTIONS = (100_000, 50, 100)
"""Thresholds of the garbage collector: little here refers to itself, and walking a large cluster
costs a sixth of the time with the usual ones.
"""
SLICE_SECONDS = 0.05
"""Wall seconds between two advances of the engine; requests are answered in between."""
TOKENS_FILE = "twin-tokens.json"
OTHER_FILES = 200
"""Files that the process opens for itself, at most."""


@dataclass(frozen=True, slots=True)
class RunningTwin:
    """What those who look after the process may ask, at any time and in any thread."""

    clock: Clock
    is_started: Callable[[], bool]
    """Whether the API answers."""
    is_ready: Callable[[], bool]
    """Whether the API answers and cluster time passes."""
    engine: Engine


Surroundings = Callable[[RunningTwin], AbstractAsyncContextManager[object]]
"""Entered before the API answers, left after its end: health endpoints and the like."""


def alone(_running: RunningTwin) -> AbstractAsyncContextManager[object]:
    """Nobody looks after the process."""
    return nullcontext()


def main(arguments: Sequence[str] | None = None, surroundings: Surroundings = alone) -> int:
    """Run until SIGTERM or SIGINT; 2 for bad input."""
    # Whoever started us reads where we are from standard output.
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso"),
            # Plain: the values of local names in a traceback would be pages, and tokens among them.
            structlog.dev.ConsoleRenderer(
                colors=False, exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    try:
        settings = read_settings(sys.argv[1:] if arguments is None else list(arguments))
        settings = with_start(settings, SystemClock())
        check_folder(settings)
        credentials = prepare_credentials(settings, SystemClock())
        log = open_audit_log(settings, SystemClock())
        engine, journal = open_world(settings, credentials.authority_pem.decode())
        listener = listen(settings)
        gc.freeze()
        gc.set_threshold(*RARE_COLLECTIONS)
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    try:
        loop = uvicorn.Config("twin").get_loop_factory()  # uvloop where there is one
        with suppress(KeyboardInterrupt), asyncio.Runner(loop_factory=loop) as runner:
            clock = SystemClock()
            runner.run(
                serve(settings, engine, listener, clock, credentials, journal, log, surroundings)
            )
    except JournalUnwritable as error:
        sys.stderr.write(f"the journal cannot be written: {error}\n")
        return 1
    return 0


def prepare_credentials(settings: TwinSettings, clock: Clock) -> Credentials:
    """Write what the API server needs into its folder; an authority with a journal is kept."""
    return prepare(
        settings.kubeconfig_dir,
        tuple(filter(None, (settings.host, settings.advertise))),
        clock.wall_ns() / 1e9,
        keep=settings.journal is not None,
    )


def open_audit_log(settings: TwinSettings, clock: Clock) -> AuditLog | None:
    """Open the audit log; None when nobody wants one. Raises ConfigError for what cannot be used."""
    if settings.audit_log is None:
        return None
    return AuditLog(settings.audit_log, f"{settings.seed}/{clock.wall_ns()}")


def open_world(settings: TwinSettings, authority_pem: str = "") -> tuple[Engine, Journal | None]:
    """Build the cluster, or bring it to where its journal ends; raises InputError."""
    if settings.journal is None:
        return build_engine(settings, authority_pem), None
    build = partial(build_engine, settings, authority_pem)
    return resume(settings.journal, world_of(settings), start_of(settings), build)


def build_engine(settings: TwinSettings, authority_pem: str = "") -> Engine:
    """Build the cluster; where namespaces hold their authority's certificate, it is `authority_pem`.

    Raises InputError for a workload, scenario or file of machines that is wrong.
    """
    scenario = None if settings.scenario is None else read_scenario(settings.scenario)
    workload = open_workload(settings.workload, nodes=settings.nodes, seed=settings.seed)
    provisioning = provisioning_of(settings.provisioner, settings.machines)
    rights, without = settings.authorization, parts_left_out(settings.without)
    objects = settings.server_objects
    authority = authority_pem if objects or rights == "rbac" else ""
    config = TwinConfig(
        start_time=start_of(settings),
        provisioning=provisioning,
        health=HealthConfig(weather=settings.weather),
        access=AccessConfig(rights, authority, objects),
        scheduler=SchedulerConfig(enabled=SCHEDULER not in without),
        controllers=ControllerConfig(switched_off=resources_without(without)),
        kubelet=KubeletConfig(local_image=LOCAL_IMAGE if settings.run_commands else ""),
        kueue=kueue_of(settings.kueue),
    )
    engine = Engine(config, settings.seed)
    engine.survive(_LOG)
    engine.add_nodes(workload.nodes)
    engine.load(workload.arrivals)
    if scenario is not None:
        engine.faults.play(scenario)
    return engine


def check_folder(settings: TwinSettings) -> None:
    """Make the folder of the kubeconfigs; raises ConfigError when it cannot be written."""
    folder = settings.kubeconfig_dir
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            "--kubeconfig-dir", folder, f"choose a folder that can be written ({error.strerror})"
        ) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ConfigError("--kubeconfig-dir", folder, "choose a folder that can be written")


def make_room() -> None:
    """Raise the limit of open files, as far as allowed, to what all connections need."""
    needed_files = MOST_CONNECTIONS + MOST_HANDSHAKES + OTHER_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY:
        needed_files = min(needed_files, hard)
    if soft != resource.RLIM_INFINITY and soft < needed_files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed_files, hard))


def listen(settings: TwinSettings) -> socket.socket:
    """Bind the port; raises ConfigError when it is taken."""
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host, settings.port))
    except OSError as error:
        listener.close()
        raise ConfigError(
            "--port", settings.port, f"choose another port ({error.strerror})"
        ) from error
    return listener


async def serve(
    settings: TwinSettings,
    engine: Engine,
    listener: socket.socket,
    clock: Clock,
    credentials: Credentials,
    journal: Journal | None = None,
    log: AuditLog | None = None,
    surroundings: Surroundings = alone,
) -> None:
    """Serve the API, written to `log`, and let cluster time pass, within `surroundings`.

    Raises:
        JournalUnwritable: what happens could not be kept any more.
    """
    tokens = (
        Tokens.draw()
        if journal is None
        else Tokens.read_or_draw(settings.kubeconfig_dir / TOKENS_FILE)
    )
    pace = Pace(clock, settings.speed, engine.now)
    make_room()
    accounts = AccountTokens(engine, credentials.signing_key)
    api = ApiServer(engine, tokens, journal, pace, accounts)
    runner = _runner(settings, api, engine, accounts, listener, credentials)
    app = api if log is None else AuditedServer(api, log)
    server = create_server(app, credentials.server_file)
    place = settings.journal
    kept = None if place is None else Checkpoints(place, world_of(settings), clock)
    driving = asyncio.create_task(drive(engine, clock, pace, journal, kept), name="engine")
    running = server.beside = asyncio.create_task(_run_commands(runner), name="commands")
    for task in (driving, running) if runner is not None else (driving,):
        task.add_done_callback(lambda _task: setattr(server, "should_exit", True))
    announcing = asyncio.create_task(
        _announce(server, settings, tokens, credentials, listener), name="ready"
    )
    running_twin = RunningTwin(
        clock,
        lambda: server.started,
        lambda: server.started and not driving.done(),
        engine,
    )
    try:
        async with surroundings(running_twin):
            await server.serve(sockets=[listener])
    finally:
        for task in (driving, announcing, running):
            task.cancel()
        ends = await asyncio.gather(driving, announcing, running, return_exceptions=True)
    for end in ends:
        if isinstance(end, Exception):
            raise end


def _runner(
    settings: TwinSettings,
    api: ApiServer,
    engine: Engine,
    accounts: AccountTokens,
    listener: socket.socket,
    credentials: Credentials,
) -> Runner | None:
    """Return what runs local pods; None when every pod is to be simulated."""
    if not settings.run_commands:
        return None
    return runner_of(
        api,
        engine,
        accounts,
        (settings.kubeconfig_dir / "containers").absolute(),  # containers have folders of their own
        ProcessLimits(settings.command_seconds, settings.command_megabytes << 20),
        _url(settings, listener),
        credentials.authority_pem,
    )


async def _run_commands(runner: Runner | None) -> None:
    if runner is not None:
        await runner.serve()


def _url(settings: TwinSettings, listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"https://{settings.advertise or host}:{port}"


async def drive(
    engine: Engine,
    clock: Clock,
    pace: Pace,
    journal: Journal | None = None,
    checkpoints: Checkpoints | None = None,
) -> None:
    """Advance the engine with wall time, in slices, for ever; never beyond what the journal says."""
    while True:
        began, until = engine.now, pace.until(engine.now)
        if until > began:
            if journal is not None:
                journal.reserve(until, pace.ahead_seconds(MARK_SECONDS))
            pace.begin_advance()
            engine.advance(until)
            pace.end_advance(engine.now - began)
        if journal is not None and checkpoints is not None:
            await checkpoints.keep(engine, journal)
        await clock.sleep(pace.rest_seconds(SLICE_SECONDS))


async def _announce(
    server: uvicorn.Server,
    settings: TwinSettings,
    tokens: Tokens,
    credentials: Credentials,
    listener: socket.socket,
) -> None:
    while not server.started:  # noqa: ASYNC110 - uvicorn offers no event to wait for
        await asyncio.sleep(0.01)
    url = _url(settings, listener)
    ready = {"address": url, "version": VERSION["gitVersion"]}
    for name, token in tokens.of_all().items():
        path = settings.kubeconfig_dir / f"{name}.kubeconfig"
        write_kubeconfig(
            path,
            url=url,
            token=token,
            user=f"foresail-{name}",
            authority_pem=credentials.authority_pem,
        )
        ready[f"{name}_kubeconfig"] = str(path)
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
