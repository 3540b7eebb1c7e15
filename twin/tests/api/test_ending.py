"""The twin's process: SIGTERM ends it, whatever it is doing."""

from __future__ import annotations

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import yaml


def start_twin(folder: Path) -> subprocess.Popen[str]:
    """Start a small idle twin."""
    options = ["--nodes", "3", "--workload", "idle", "--kubeconfig-dir", str(folder)]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-m", "twin", *options],
        stdout=pipe,
        stderr=pipe,
        text=True,
    )


@pytest.fixture
def process(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], dict[str, str]]]:
    """Start a twin as a process of its own."""
    with start_twin(tmp_path) as started:
        assert started.stdout is not None
        try:
            yield started, json.loads(started.stdout.readline())
        finally:
            if started.poll() is None:
                started.kill()


@pytest.mark.twin
def test_sigterm_ends_a_busy_process(
    process: tuple[subprocess.Popen[str], dict[str, str]],
) -> None:
    """With requests, a watch and handshakes under way SIGTERM still ends it, without a traceback."""
    started, ready = process
    content = yaml.safe_load(Path(ready["admin_kubeconfig"]).read_text())
    token = content["users"][0]["user"]["token"]
    host, port = ready["address"].removeprefix("https://").split(":")
    trust = ssl._create_unverified_context()
    opened = [socket.create_connection((host, int(port))) for _ in range(20)]
    lines = f"Host: x\r\nAuthorization: Bearer {token}\r\n"
    for more in ("GET /api/v1/pods?watch=true", "POST /api/v1/namespaces"):
        one = trust.wrap_socket(socket.create_connection((host, int(port))))
        one.sendall(f"{more} HTTP/1.1\r\n{lines}Content-Length: 100\r\n\r\n".encode())
        opened.append(one)
    started.send_signal(signal.SIGTERM)
    _, output = started.communicate(timeout=60)
    for one in opened:
        one.close()

    assert started.returncode in (0, -signal.SIGTERM)
    assert "Traceback" not in output


@pytest.mark.twin
def test_sigterm_ends_a_process_that_hangs(tmp_path: Path) -> None:
    """A server that is stuck in one call is ended from outside of Python."""
    program = (
        "import asyncio, socket, sys, time\n"
        "from twin.api import connections\n"
        "connections.STOP_SECONDS = 1\n"
        "async def app(scope, receive, send):\n"
        "    print('stuck', flush=True)\n"
        "    end = time.monotonic() + 60\n"
        "    while time.monotonic() < end: pass\n"
        "listener = socket.socket(); listener.bind(('127.0.0.1', 0))\n"
        "print(listener.getsockname()[1], flush=True)\n"
        "asyncio.run(connections.create_server(app, None).serve(sockets=[listener]))\n"
    )
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=os.environ) as stuck:
        assert stuck.stdout is not None
        try:
            port = int(stuck.stdout.readline())
            with _connect_and_ask(port):
                assert stuck.stdout.readline() == "stuck\n"
                stuck.send_signal(signal.SIGTERM)
                stuck.communicate(timeout=50)
        finally:
            stuck.kill()

    assert stuck.returncode == 1


def _connect_and_ask(port: int) -> socket.socket:
    for _ in range(600):
        time.sleep(0.1)
        with suppress(ConnectionError):
            connection = socket.create_connection(("127.0.0.1", port))
            connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            return connection
    raise AssertionError("nobody listens")
