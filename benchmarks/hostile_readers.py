"""What input that was made to be expensive does: to the other clients of a server, and to a command.

    python -m benchmarks.hostile_readers

The servers are a dashboard and a referee over a real nats-server. While a request or a message is
sent again and again, another client asks `/healthz` every few milliseconds; its slowest answer is the
longest stop of other clients. A command must end with one line, soon, and in bounded memory. Exit
code 1 when a bound is broken.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from benchmarks import hostile_reader_inputs
from benchmarks.hostile_reader_inputs import REQUESTS, messages
from benchmarks.machine import Row, parser, report
from bus.nats_adapter import NatsBus
from bus.nats_server import NatsServer
from bus.port import Message
from bus.ports import free_port
from bus.streams import StreamDeclaration

REPOSITORY = Path(__file__).resolve().parents[1]
DECLARATION = StreamDeclaration.of("c", "i1")
STOP_MS = 100.0
"""The longest that one request or message may stop other clients."""
COMMAND_SECONDS = 30.0
COMMAND_MB = 700
"""Most memory of a command; half of it are the libraries that it imports."""
EACH_SECONDS = 1.5
"""How long each input is sent again and again."""
START_SECONDS = 30.0
HALF_OPEN = 300


@dataclass
class Prober:
    """Another client: asks again and again and keeps its slowest answer."""

    port: int
    slowest_ms: float = 0.0
    failures: int = 0
    _end: threading.Event = field(default_factory=threading.Event)
    _thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        """Begin to ask."""
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop asking."""
        self._end.set()
        assert self._thread is not None
        self._thread.join()

    def _run(self) -> None:
        while not self._end.is_set():
            began = time.perf_counter()
            if (
                b" 200 "
                not in send(self.port, b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")[:20]
            ):
                self.failures += 1
            self.slowest_ms = max(self.slowest_ms, (time.perf_counter() - began) * 1e3)
            time.sleep(0.003)


def send(port: int, request: bytes) -> bytes:
    """Send bytes on a connection of its own; return the answer's beginning."""
    answer = b""
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=20) as client:
        with suppress(ConnectionError):
            client.sendall(request)
        with suppress(ConnectionError):
            while len(answer) < 200 and (piece := client.recv(65_536)):
                answer += piece
    return answer


def status(answer: bytes) -> str:
    """Return an answer's status line without its version."""
    first = answer.splitlines()[0].decode(errors="replace") if answer else "closed"
    return first.partition(" ")[2] if first.startswith("HTTP/") else first[:60]


@asynccontextmanager
async def process(
    module: str, url: str, health: int, settings: str
) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run a service while the block runs."""
    running = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", module),
        env={
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith("FORESAIL_")
            },
            "PYTHONPATH": str(REPOSITORY),
            "FORESAIL_CLUSTER": "c",
            "FORESAIL_INCARNATION": "i1",
            "FORESAIL_STREAM": DECLARATION.name,
            "FORESAIL_NATS_URL": url,
            "FORESAIL_HEALTH_PORT": str(health),
            "FORESAIL_SETTINGS": settings,
        },
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        yield running
    finally:
        with suppress(ProcessLookupError):
            running.terminate()
        await running.wait()


async def answering(port: int) -> None:
    """Wait until a port answers."""
    deadline = time.monotonic() + START_SECONDS
    while b" 200 " not in await asyncio.to_thread(
        send, port, b"GET /healthz HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n"
    ):
        assert time.monotonic() < deadline, "nobody answers"
        await asyncio.sleep(0.1)


def row(door: str, name: str, answer: str, prober: Prober, *, bound: float = STOP_MS) -> Row:
    """Return one line of the table."""
    holds = prober.slowest_ms <= bound and not prober.failures
    return {
        "door": door,
        "input": name,
        "answer": answer,
        "longest stop of others, ms": round(prober.slowest_ms, 1),
        "unanswered": prober.failures,
        "holds": "yes" if holds else "NO",
    }


def _for_a_while(port: int, request: bytes) -> bytes:
    deadline, answer = time.monotonic() + EACH_SECONDS, b""
    while time.monotonic() < deadline:
        answer = send(port, request)
        time.sleep(0.05)
    return answer


async def requests(door: str, port: int) -> list[Row]:
    """Send every hostile request to a server, beside another client."""
    rows = []
    with Prober(port) as prober:
        await asyncio.sleep(EACH_SECONDS)
    rows.append(row(door, "nothing (baseline)", "", prober))
    for name, request in REQUESTS.items():
        with Prober(port) as prober:
            answer = await asyncio.to_thread(_for_a_while, port, request)
        rows.append(row(door, name, status(answer), prober))
    connections = [
        socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(HALF_OPEN)
    ]
    for connection in connections:
        with suppress(OSError):
            connection.sendall(b"GET / HTT")
    with Prober(port) as prober:
        await asyncio.sleep(EACH_SECONDS)
    closed = await asyncio.to_thread(_count_closed, connections)
    rows.append(
        row(door, f"{HALF_OPEN} half-open connections", f"{closed} closed after 15 s", prober)
    )
    return rows


def _count_closed(connections: list[socket.socket]) -> int:
    """Count connections that the server has ended within the time that a request may take."""
    time.sleep(15)
    closed = 0
    for connection in connections:
        connection.setblocking(False)
        try:
            while connection.recv(65_536):
                pass
            closed += 1
        except BlockingIOError:
            pass
        except OSError:
            closed += 1
        connection.close()
    return closed


async def followers(bus: NatsBus, ports: dict[str, int]) -> list[Row]:
    """Store every hostile message while another client asks each follower."""
    rows = []
    for name, (tokens, kind, data) in messages().items():
        subject = f"foresail.c.{tokens}"
        headers = {
            "ce-specversion": "1.0",
            "ce-type": kind,
            "ce-id": "x",
            "ce-source": "/foresail/c/i1/p",
            "ce-time": "2026-01-01T00:00:00.000000Z",
            "ce-correlationid": "c/i1/1",
        }
        probers = {door: Prober(port) for door, port in ports.items()}
        for prober in probers.values():
            prober.__enter__()
        deadline = time.monotonic() + EACH_SECONDS
        while time.monotonic() < deadline:
            await bus.publish([Message(subject, headers, data)])
            await asyncio.sleep(0.2)
        await asyncio.sleep(0.3)
        for door, prober in probers.items():
            prober.__exit__()
            rows.append(row(door, f"message: {name}", "read on", prober))
    return rows


async def servers() -> list[Row]:
    """Return the rows of the long-lived processes."""
    with tempfile.TemporaryDirectory() as folder:
        server = NatsServer(Path(folder) / "nats")
        url = await server.start()
        try:
            bus = await _declare_log(url)
            page, health, other = free_port(), free_port(), free_port()
            async with (
                process("services.dashboard", url, health, json.dumps({"port": page})) as first,
                process("services.referee", url, other, "{}") as second,
            ):
                for port in (page, health, other):
                    await answering(port)
                rows = await requests("dashboard", page)
                rows += await requests("health port", other)
                rows += await followers(bus, {"follower and page": page, "follower": other})
                assert first.returncode is None, "the dashboard ended"
                assert second.returncode is None, "the referee ended"
            await bus.close()
        finally:
            await server.stop()
    return rows


async def _declare_log(url: str) -> NatsBus:
    await NatsBus.declare(url, DECLARATION)
    return await NatsBus.connect(url, cluster="c", stream=DECLARATION.name, name="hostile")


def commands(shown: Callable[[str], None]) -> list[Row]:
    """Run every command over its hostile file."""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        writing = [sys.executable, "-m", "benchmarks.hostile_reader_inputs", name]
        subprocess.run(writing, check=True, cwd=REPOSITORY)
        for what, (door, words) in hostile_reader_inputs.commands().items():
            shown(what)
            rows.append(command(door, what, words, folder))
    return rows


def command(door: str, name: str, words: list[str], folder: Path) -> Row:
    """Run one command in a process of its own and look at how it ended."""
    began = time.monotonic()
    errors = folder / "stderr.txt"
    with errors.open("wb") as stderr:
        running = subprocess.Popen(
            [sys.executable, *words],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=stderr,
            stderr=stderr,
        )
        timer = threading.Timer(COMMAND_SECONDS * 2, running.kill)
        timer.start()
        _, state, used = os.wait4(running.pid, 0)
        timer.cancel()
    running.returncode = code = os.waitstatus_to_exitcode(state)
    seconds, megabytes = time.monotonic() - began, used.ru_maxrss // 1024
    text = errors.read_text(errors="replace")
    lines = text.strip().splitlines() or [""]
    holds = code in {1, 2} and seconds < COMMAND_SECONDS and megabytes < COMMAND_MB
    return {
        "door": door,
        "input": name,
        "answer": lines[0].removeprefix("foresail: ")[:90],
        "exit code": code,
        "seconds": round(seconds, 1),
        "peak MB": megabytes,
        "holds": "yes" if holds and "Traceback" not in text else "NO",
    }


def main() -> int:
    """Print both tables; return 1 when a bound is broken."""
    made = parser(__doc__)
    made.add_argument("--only", choices=("servers", "commands"), help="one of the two tables")
    options: argparse.Namespace = made.parse_args()
    # Half-open connections are many, and each is a file of ours.
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (4_096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
    )
    tables = {}
    if options.only != "commands":
        tables["servers beside hostile clients"] = asyncio.run(servers())
    if options.only != "servers":
        tables["commands over hostile files"] = commands(
            lambda name: print(name, file=sys.stderr, flush=True)
        )
    for title, rows in tables.items():
        report(title, options, rows)
    return int(any(row["holds"] != "yes" for rows in tables.values() for row in rows))


if __name__ == "__main__":
    sys.exit(main())
