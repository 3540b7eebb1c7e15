"""What a process answers: alive while its loop turns, ready while caught up and connected."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator
from http.client import HTTPConnection
from io import StringIO
from pathlib import Path
from typing import Any
from wsgiref.util import setup_testing_defaults

import pytest
import pytest_asyncio
from prometheus_client.parser import text_string_to_metric_families

from bus.clock import ManualClock, SystemClock
from bus.errors import ConfigError
from bus.health import (
    LOOP_STALL_SECONDS,
    HealthState,
    LoopMonitor,
    address_from,
    health_app,
    health_server,
)
from bus.health_check import check
from bus.metrics import ProcessMetrics
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.ports import free_port
from bus.streams import StreamDeclaration
from tests.patience import HANGS_SECONDS

DECLARATION = StreamDeclaration.of("c", "i1")
REPOSITORY = Path(__file__).parents[2]
READY = HealthState(True, {"state": "live"})


def ask(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    """Ask a local port; 0 when nobody answers."""
    connection = HTTPConnection("127.0.0.1", port, timeout=HANGS_SECONDS)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except OSError:
        return 0, ""
    finally:
        connection.close()


async def ask_in_thread(port: int, path: str, method: str = "GET") -> tuple[int, str]:
    """Ask from a thread, so that this loop goes on."""
    return await asyncio.to_thread(ask, port, path, method)


async def until(port: int, path: str, status: int) -> str:
    """Ask until the answer has this status; return its text."""
    async with asyncio.timeout(HANGS_SECONDS):
        while True:
            got, text = await ask_in_thread(port, path)
            if got == status:
                return text
            await asyncio.sleep(0.05)


async def test_three_questions_are_answered_and_nothing_else() -> None:
    """/healthz, /readyz and /metrics answer 200; other paths 404, anything but reading 405."""
    port, metrics = free_port(), ProcessMetrics("p", "c", "i1")
    environment = {"FORESAIL_HEALTH_PORT": str(port)}
    async with health_server(environment, SystemClock(), metrics, lambda: READY):
        health, ready = await ask_in_thread(port, "/healthz"), await ask_in_thread(port, "/readyz")
        metrics = await ask_in_thread(port, "/metrics")
        other, written = (
            await ask_in_thread(port, "/"),
            await ask_in_thread(port, "/metrics", "POST"),
        )

    assert [200, 200, 200, 404, 405] == [one[0] for one in (health, ready, metrics, other, written)]
    assert {"ready": True, "state": "live"} == json.loads(ready[1])
    families = {family.name for family in text_string_to_metric_families(metrics[1])}
    assert {"foresail_process_info", "foresail_ready", "foresail_process_cpu_seconds"} <= families


def test_a_hanging_loop_is_neither_alive_nor_ready() -> None:
    """A process whose loop stopped turning says so, although a thread still answers for it."""
    clock, metrics = ManualClock(), ProcessMetrics("p", "c", "i1")
    app = health_app(metrics.registry, LoopMonitor(clock), lambda: READY)
    fresh = [_status(app, path) for path in ("/healthz", "/readyz")]
    clock.advance(LOOP_STALL_SECONDS)
    hanging = [_status(app, path) for path in ("/healthz", "/readyz")]

    assert ["200", "200"] == fresh
    assert ["503", "503"] == hanging


def _status(app: Any, path: str) -> str:
    environ: dict[str, Any] = {"PATH_INFO": path}
    setup_testing_defaults(environ)
    statuses: list[str] = []
    list(app(environ, lambda status, _headers: statuses.append(status)))
    return statuses[0][:3]


async def test_what_is_not_ready_says_why() -> None:
    """503 comes with the state, and the check of a container repeats it."""
    port, complaint = free_port(), StringIO()
    waiting = HealthState(False, {"state": "catching_up", "lag": 7})
    async with health_server(
        {"FORESAIL_HEALTH_PORT": str(port)},
        SystemClock(),
        ProcessMetrics("p", "c", "i1"),
        lambda: waiting,
    ):
        status, text = await ask_in_thread(port, "/readyz")
        codes = [
            await asyncio.to_thread(check, port, question, complaint)
            for question in ("healthz", "readyz")
        ]
    log_check = check(port, "readyz", complaint)

    assert (503, "catching_up") == (status, json.loads(text)["state"])
    assert [0, 1, 1] == [*codes, log_check]
    assert "catching_up" in complaint.getvalue()


async def test_a_port_that_is_taken_does_not_stop_the_work() -> None:
    """Observing is a courtesy: the process runs on without it."""
    port, ran = free_port(), []
    environment = {"FORESAIL_HEALTH_PORT": str(port)}
    async with (
        health_server(environment, SystemClock(), ProcessMetrics("a", "c", "i1"), lambda: READY),
        health_server(environment, SystemClock(), ProcessMetrics("b", "c", "i1"), lambda: READY),
    ):
        ran.append(await ask_in_thread(port, "/healthz"))

    assert [200] == [status for status, _ in ran]


@pytest.mark.parametrize("text", ["-1", "65536", "http", "9.1"])
def test_a_port_that_cannot_be_is_bad_input(text: str) -> None:
    """A wrong port is one line; no port and port 0 mean off; the address is loopback unless set."""
    with pytest.raises(ConfigError, match="FORESAIL_HEALTH_PORT"):
        address_from({"FORESAIL_HEALTH_PORT": text})

    assert address_from({}) is None
    assert address_from({"FORESAIL_HEALTH_PORT": "0"}) is None
    assert ("127.0.0.1", 9100) == address_from({"FORESAIL_HEALTH_PORT": "9100"})


@pytest_asyncio.fixture
async def server(tmp_path: Path) -> AsyncIterator[NatsServer]:
    """Give a nats-server with a log."""
    running = NatsServer(tmp_path / "nats")
    await NatsBus.declare(await running.start(), DECLARATION)
    yield running
    await running.stop()


@pytest.mark.nats
async def test_a_process_is_ready_while_the_log_answers(server: NatsServer) -> None:
    """A real service: ready once live, 503 while nats-server is away, ready again, and its numbers
    can be scraped throughout.
    """
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.referee"),
        env={
            **os.environ,
            "PYTHONPATH": str(REPOSITORY),
            "FORESAIL_CLUSTER": "c",
            "FORESAIL_INCARNATION": "i1",
            "FORESAIL_STREAM": DECLARATION.name,
            "FORESAIL_NATS_URL": server.url,
            "FORESAIL_HEALTH_PORT": str(port),
        },
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        ready = json.loads(await until(port, "/readyz", 200))
        os.kill(server.pid, signal.SIGKILL)
        away = json.loads(await until(port, "/readyz", 503))
        health, metrics = (
            await ask_in_thread(port, "/healthz"),
            await ask_in_thread(port, "/metrics"),
        )
        await server.wait()
        await server.restart()
        await until(port, "/readyz", 200)
    finally:
        process.terminate()
        await process.wait()

    assert ("referee", "live", 0) == (ready["process"], ready["state"], ready["lag"])
    assert (False, 200) == (away["connected"], health[0])
    assert "foresail_connected 0.0" in metrics[1]
    assert 'foresail_events_published_total{type="foresail.config.v1"} 1.0' in metrics[1]
