"""A real HTTP server that speaks S3: moto's, in an environment of its own, since it and the Kubernetes client want
other versions of the same packages. FORESAIL_S3_SERVER names one that is installed already.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bus.nats_server import free_port

ROOT = Path(__file__).parents[2]
LOCK = Path(__file__).with_name("s3-server.lock")
PLACE = ROOT / ".venv" / "s3-server"
START_SECONDS = 60.0


def program() -> str:
    """Return the server's program, installed once; a test is skipped where that cannot be."""
    if named := os.environ.get("FORESAIL_S3_SERVER"):
        return named
    found = PLACE / "bin" / "moto_server"
    PLACE.parent.mkdir(exist_ok=True)
    with (PLACE.parent / "s3-server.installing").open("w") as one_at_a_time:
        fcntl.flock(one_at_a_time, fcntl.LOCK_EX)
        if not found.exists():
            uv = str(Path(sys.executable).with_name("uv"))
            python = str(PLACE / "bin" / "python")
            install = (uv, "pip", "install", "--quiet", "--python", python, "--require-hashes")
            for command in (
                (uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(PLACE)),
                (*install, "--requirement", str(LOCK)),
            ):
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    pytest.skip(f"no S3 server can be installed: {done.stderr.strip()[-200:]}")
    return str(found)


class S3Server:
    """One server; it forgets everything when it is stopped."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it and wait until it answers."""
        self._process = subprocess.Popen(
            [program(), "-H", "127.0.0.1", "-p", str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for _ in range(int(START_SECONDS / 0.1)):
            try:
                urllib.request.urlopen(f"{self.url}/moto-api/", timeout=5).read()
            except OSError:
                pass
            else:
                return
            assert self._process.poll() is None, "the S3 server ended"
            time.sleep(0.1)
        raise AssertionError("the S3 server does not answer")

    def make_bucket(self, name: str) -> None:
        """Make a bucket, as its owner would."""
        request = urllib.request.Request(f"{self.url}/{name}", method="PUT", data=b"")
        urllib.request.urlopen(request, timeout=10).read()

    def stop(self) -> None:
        """Stop it."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


@contextmanager
def running_s3() -> Iterator[S3Server]:
    """Run a server."""
    server = S3Server()
    server.start()
    try:
        yield server
    finally:
        server.stop()
