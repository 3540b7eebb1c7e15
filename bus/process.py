"""One service as a process: settings from the environment, signals, heartbeats, JSON log lines, and exit
codes that mean something.

Exit code 0: told to stop. 2: bad input, one line on stderr. 3: another process writes its subjects.
4: its event loop hung, the stack of each thread is on stderr. 1: anything else, with the traceback
in the log where it is not a known outage; its supervisor starts it again. This and the boundary of one item
(`bus/item_errors.py`) are the only places that catch every exception.
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import structlog
from pydantic import BaseModel, ValidationError

from bus.cancellation import cancel_and_wait
from bus.clock import Clock, SystemClock
from bus.errors import AnotherWriter, ConfigError, InputError, LogWentBack, Temporary
from bus.exit_codes import ExitCode
from bus.follow import Handler
from bus.handler_process import run_handler
from bus.hang_watch import hang_watchdog
from bus.health import HealthState, health_server
from bus.item_errors import ItemErrors
from bus.login import Login
from bus.measured_bus import MeasuredBus
from bus.metrics import ProcessMetrics
from bus.nats_adapter import NatsBus
from bus.port import Bus
from inputs.parent_process import PARENT_VARIABLE, die_with_parent
from schemas.config import Config
from schemas.identity import Origin

HEARTBEAT_SECONDS = 1.0
CANCEL_AGAIN_SECONDS = 0.5
BAD_INPUT = ExitCode.BAD_INPUT
FAILED = ExitCode.FAILED
ANOTHER_WRITER = ExitCode.ANOTHER_WRITER
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")

AnySettings = TypeVar("AnySettings", bound=BaseModel)


@dataclass
class Progress:
    """How far a process has come, as its heartbeats report it."""

    state: str = "starting"
    """starting, catching_up, live or stopping."""
    seq: int = 0

    def __call__(self, state: str, seq: int) -> None:
        """Note the newest state and position."""
        self.state, self.seq = state, seq


@dataclass(frozen=True)
class ProcessContext:
    """Arguments of a service's `main`."""

    name: str
    bus: Bus
    clock: Clock
    origin: Origin
    environment: Mapping[str, str]
    progress: Progress = field(default_factory=Progress)
    errors: ItemErrors = field(default_factory=lambda: ItemErrors("process"))


def settings_from(environment: Mapping[str, str], kind: type[AnySettings]) -> AnySettings:
    """Read a process' settings from FORESAIL_SETTINGS (JSON); defaults when it is unset.

    Raises:
        ConfigError: it is no JSON, or a value does not fit.
    """
    text = environment.get("FORESAIL_SETTINGS", "{}")
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "FORESAIL_SETTINGS"
        raise ConfigError(where, first["input"], first["msg"]) from error


async def run_handler_process(
    context: ProcessContext, handler: Handler[Any], config: Config
) -> None:
    """Run a handler as the process of this context, until cancelled."""
    bus, clock, progress = context.bus, context.clock, context.progress
    await run_handler(
        handler, bus, clock, context.origin, config, on_progress=progress, errors=context.errors
    )


def run_process(name: str, main: Callable[[ProcessContext], Awaitable[None]]) -> int:
    """Run one service until SIGTERM or SIGINT; return the exit code."""
    # What was imported stays to the end: nobody needs to look through it for garbage, not even at exit.
    gc.freeze()
    configure_logging()
    if parent := os.environ.get(PARENT_VARIABLE):
        die_with_parent(int(parent))
    log = structlog.get_logger(name)
    try:
        asyncio.run(_run(name, main))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return BAD_INPUT
    except AnotherWriter as error:
        log.error("lost its subject", error=str(error))
        return ANOTHER_WRITER
    except (Temporary, LogWentBack) as error:
        log.error("stopped", error=str(error))
        return FAILED
    except Exception:
        log.exception("failed")
        return FAILED
    return 0


def configure_logging() -> None:
    """Write log lines as JSON to stdout: UTC time, level, process and what happened."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.PrintLoggerFactory(),
        cache_logger_on_first_use=True,
    )


async def _run(name: str, main: Callable[[ProcessContext], Awaitable[None]]) -> None:
    environment = os.environ
    cluster, incarnation, stream, url = (
        _required_variable(environment, f"FORESAIL_{part}")
        for part in ("CLUSTER", "INCARNATION", "STREAM", "NATS_URL")
    )
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    clock, progress = SystemClock(), Progress()
    async with hang_watchdog(environment, clock, lambda: progress.state == "live"):
        connection = await NatsBus.connect(
            url,
            cluster=cluster,
            stream=stream,
            name=name,
            login=Login.from_environment(environment),
        )
        metrics, origin = ProcessMetrics(name, cluster, incarnation), Origin(cluster, incarnation)
        bus = MeasuredBus(connection, connection.link, metrics, clock)
        errors = ItemErrors(name, count=lambda loop: metrics.item_errors.labels(loop).inc())
        context = ProcessContext(name, bus, clock, origin, dict(environment), progress, errors)
        register_process_metrics(metrics, context, bus)
        try:
            async with health_server(
                environment, clock, metrics, lambda: health_state(context, bus)
            ):
                await _run_until(stop, main, context, bus)
        finally:
            await bus.close()


async def _run_until(
    stop: asyncio.Event,
    main: Callable[[ProcessContext], Awaitable[None]],
    context: ProcessContext,
    bus: MeasuredBus,
) -> None:
    task = asyncio.create_task(_run_main(main, context), name=context.name)
    heartbeats = asyncio.create_task(_send_heartbeats(context, bus), name="heartbeat")
    stopping = asyncio.create_task(_cancel_when(stop, task, context.progress), name="stop")
    try:
        with suppress(asyncio.CancelledError):
            await task
    finally:
        await cancel_and_wait(heartbeats, stopping)


async def _cancel_when(stop: asyncio.Event, task: asyncio.Task[None], progress: Progress) -> None:
    """Cancel a task once told to, again and again until it ends.

    `asyncio.wait_for` before Python 3.12 can swallow a cancellation that comes together with its
    result, and then the service would run on.
    """
    await stop.wait()
    progress.state = "stopping"
    while not task.done():
        task.cancel()
        await asyncio.wait({task}, timeout=CANCEL_AGAIN_SECONDS)


async def _run_main(
    main: Callable[[ProcessContext], Awaitable[None]], context: ProcessContext
) -> None:
    await main(context)


def _required_variable(environment: Mapping[str, str], variable: str) -> str:
    value = environment.get(variable, "")
    if not value:
        raise ConfigError(variable, "(unset)", "set it, or let `foresail up` start this process")
    return value


async def _send_heartbeats(context: ProcessContext, bus: MeasuredBus) -> None:
    started_ns = context.clock.wall_ns()
    while True:
        with context.errors.item("heartbeat", context.progress.seq):
            await _send_heartbeat(context, bus, started_ns)
        await context.clock.sleep(HEARTBEAT_SECONDS)


async def _send_heartbeat(context: ProcessContext, bus: MeasuredBus, started_ns: int) -> None:
    payload: dict[str, Any] = {
        "process": context.name,
        "pid": os.getpid(),
        "state": context.progress.state,
        "seq": context.progress.seq,
        "lag": bus.lag(context.progress.seq),
        "trouble": bus.link.trouble or context.errors.trouble,
        "rss_bytes": resident_bytes(),
        "cpu_seconds": round(time.process_time(), 3),
        "started_ns": started_ns,
    }
    await context.bus.send_heartbeat(
        context.name, json.dumps(payload, separators=(",", ":")).encode()
    )


def register_process_metrics(
    metrics: ProcessMetrics, context: ProcessContext, bus: MeasuredBus
) -> None:
    """Add the metrics that are read at each scrape: lag, position, connection, publishes sent again."""
    progress = context.progress
    metrics.register("lag_positions", "Stored but not applied yet", lambda: bus.lag(progress.seq))
    metrics.register("folded_seq", "Newest position applied", lambda: progress.seq)
    metrics.register("connected", "1 while a server answers", lambda: bus.link.connected)
    metrics.register("publish_retries", "Sent again", lambda: bus.link.retries, counts=True)
    metrics.register("publish_refusals", "Refused", lambda: bus.link.refusals, counts=True)


def health_state(context: ProcessContext, bus: MeasuredBus) -> HealthState:
    """Return the health of a process: ready once it has caught up with the log and is connected, and while
    no loop fails again and again.
    """
    state, seq, connected = context.progress.state, context.progress.seq, bus.link.connected
    trouble = context.errors.trouble
    detail = {"process": context.name, "state": state, "connected": connected, "seq": seq}
    detail |= {"lag": bus.lag(seq), "trouble": trouble}
    return HealthState(state == "live" and connected and not trouble, detail)


def resident_bytes() -> int:
    """Return the resident memory of this process in bytes (its peak where /proc is missing)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as statm:  # noqa: PTH123 - a kernel file, read once a second
            return int(statm.read().split()[1]) * PAGE_BYTES
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
