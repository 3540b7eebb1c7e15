"""Fixtures of whole-stack tests: the command line as a user runs it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from bus.errors import ForesailError
from bus.events import cycle_of_message
from bus.port import StoredMessage
from foresail.log_source import LogSource, connect
from foresail.stack.state_folder import StateFolder

REPOSITORY = Path(__file__).parents[2]


@dataclass
class Cli:
    """Runs `foresail` in a folder of its own."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def state(self) -> Path:
        """The state folder of every stack started here."""
        return self.folder / "state"

    def command(self, *arguments: str) -> list[str]:
        """Return the command line of one verb; verbs that know `--state` get ours."""
        takes_state = arguments[:1] not in {("recording",), ()} or arguments[:2] == (
            "recording",
            "record",
        )
        state = ["--state", str(self.state)] if takes_state and "--state" not in arguments else []
        return [sys.executable, "-m", "foresail", *arguments, *state]

    def run(self, *arguments: str, timeout: float = 90) -> subprocess.CompletedProcess[str]:
        """Run one verb to its end."""
        return subprocess.run(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start one verb and leave it running."""
        process = subprocess.Popen(
            self.command(*arguments),
            cwd=self.folder,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def environment(self) -> dict[str, str]:
        """Return an environment without the caller's own Foresail settings."""
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith("FORESAIL_")
        }
        return {**clean, "PYTHONPATH": str(REPOSITORY)}

    def json(self, *arguments: str) -> Any:
        """Run one verb with --json and return what it says."""
        done = self.run(*arguments, "--json")
        return json.loads(done.stdout)

    def newest_decided_cycle(self) -> int:
        """Return the newest decided cycle of the running stack; -1 while there is none or nobody answers.

        Read from the log by this process: starting the command line for each look costs a core.
        """
        decisions = self._messages("decision")
        return cycle_of_message(decisions[-1]) if decisions else -1

    def stored(self, subject: str) -> list[dict[str, Any]]:
        """Return the data of all events of one subject, oldest first; none while nobody answers."""
        return [json.loads(message.data) for message in self._messages(subject)]

    def _messages(self, subject: str) -> list[StoredMessage]:
        try:
            return asyncio.run(asyncio.wait_for(_stored(self.state, subject), 10.0))
        except (ForesailError, TimeoutError):
            return []

    def pids(self) -> dict[str, int]:
        """Return the running stack's process ids by name, as the processes themselves tell."""
        return {
            name: process["pid"]
            for name, process in self.json("status")["processes"].items()
            if process.get("pid")
        }


async def _stored(state: Path, subject: str) -> list[StoredMessage]:
    folder = StateFolder(state)
    stack = folder.read()
    if not stack.running:
        return []
    async with connect(stack, folder) as bus:
        log = LogSource(bus, stack.cluster, running=True, now_ns=0)
        return [message async for message in log.messages((subject,))]


def wait_until(reached: Callable[[], Any], seconds: float, what: str) -> Any:
    """Poll until something holds and return it; fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        found = reached()
        if found:
            return found
        time.sleep(0.3)
    pytest.fail(f"not within {seconds:g} s: {what}")


def children_of(folder: Path) -> list[str]:
    """Return command lines of processes that run in a folder or mention it: what a stack started
    there has left.
    """
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            home = (entry / "cwd").readlink()
        except OSError:
            continue
        if str(folder) in line or home == folder:
            found.append(line)
    return found


@pytest.fixture(name="wait_until")
def wait_until_fixture() -> Callable[[Callable[[], Any], float, str], Any]:
    """Give the polling function."""
    return wait_until


@pytest.fixture(name="children_of")
def children_of_fixture() -> Callable[[Path], list[str]]:
    """Give the search for processes of a folder."""
    return children_of


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    """Give the command line in an empty folder; whatever was started is stopped at the end."""
    runner = Cli(tmp_path)
    yield runner
    for process in runner.started:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()
