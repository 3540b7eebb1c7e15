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
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from bus.errors import ForesailError
from bus.events import cycle_of_message
from bus.port import StoredMessage
from foresail.__main__ import main
from foresail.log_source import LogSource, connect
from foresail.stack.state_folder import StateFolder
from schemas.subjects import parse
from tests.patience import HANGS_SECONDS

REPOSITORY = Path(__file__).parents[2]
TAIL_CHARACTERS = 2_000
_IN_USE: list[Cli] = []
"""What a wait that fails describes."""


@dataclass
class Cli:
    """Runs `foresail` in a folder of its own."""

    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    unread: str = ""
    """Why the newest look at the log gave nothing; empty when it could be read."""

    def __post_init__(self) -> None:
        """Be described by a wait that fails."""
        _IN_USE.append(self)

    def stop(self) -> None:
        """Stop whatever was started, as Ctrl-C does, and by force what does not stop."""
        for process in self.started:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(HANGS_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            if process.stdout is not None:
                process.stdout.close()
        _IN_USE.remove(self)

    @property
    def state(self) -> Path:
        """The state folder of every stack started here."""
        return self.folder / "state"

    def words(self, *arguments: str) -> list[str]:
        """Return what is said to `foresail` for one verb; verbs that know `--state` get ours."""
        takes_state = arguments[:1] not in {("recording",), ()} or arguments[:2] == (
            "recording",
            "record",
        )
        state = ["--state", str(self.state)] if takes_state and "--state" not in arguments else []
        return [*arguments, *state]

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run one verb to its end, in this process: starting one takes longer than what most verbs do."""
        words, output, errors = self.words(*arguments), StringIO(), StringIO()
        environment = patch.dict(os.environ, self.environment(), clear=True)
        with chdir(self.folder), environment, redirect_stdout(output), redirect_stderr(errors):
            code = main(words)
        return subprocess.CompletedProcess(words, code, output.getvalue(), errors.getvalue())

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start one verb and leave it running."""
        process = subprocess.Popen(
            [sys.executable, "-m", "foresail", *self.words(*arguments)],
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
            messages = asyncio.run(asyncio.wait_for(_stored(self.state, subject), HANGS_SECONDS))
        except (ForesailError, TimeoutError) as error:
            self.unread = repr(error)
            return []
        self.unread = ""
        return messages

    def layers(self) -> set[str]:
        """Return the layers of which the running stack's log holds events; none while nobody answers."""
        return {parse(message.subject).layer for message in self._messages(">")}

    def pids(self) -> dict[str, int]:
        """Return the running stack's process ids by name, as the processes themselves tell."""
        return {
            name: process["pid"]
            for name, process in self.json("status")["processes"].items()
            if process.get("pid")
        }

    def describe(self) -> str:
        """Return all that may explain why a stack is not as expected: its processes, its log, its words."""
        parts = [f"--- the log in {self.folder}: {self._counts()}"]
        done = self.run("status")
        parts.append(f"--- status (exit code {done.returncode})\n{done.stdout}{done.stderr}")
        for process in self.started:
            name = f"{process.args} (exit code {process.poll()})"
            parts.append(f"--- {name}\n{_printed(process)[-TAIL_CHARACTERS:]}")
        for log in sorted(self.state.glob("incarnations/*/logs/*.log")):
            end = log.read_text(encoding="utf-8", errors="replace")[-TAIL_CHARACTERS:]
            parts.append(f"--- {log.name}\n{end}")
        return "\n".join(parts)

    def _counts(self) -> str:
        counts = {name: len(self._messages(name)) for name in ("observation", "decision")}
        return f"{counts} {self.unread}"


def _printed(process: subprocess.Popen[str]) -> str:
    """Return what a process has printed and nobody has read yet, without waiting for more."""
    if process.stdout is None or process.stdout.closed:
        return ""
    os.set_blocking(process.stdout.fileno(), False)
    return (process.stdout.buffer.read() or b"").decode(errors="replace")


async def _stored(state: Path, subject: str) -> list[StoredMessage]:
    folder = StateFolder(state)
    stack = folder.read()
    if not stack.running:
        return []
    async with connect(stack, folder) as bus:
        log = LogSource(bus, stack.cluster, running=True, now_ns=0)
        return [message async for message in log.messages((subject,))]


def wait_until(reached: Callable[[], Any], what: str) -> Any:
    """Poll until something holds and return it; when it never does, fail and say how every stack is."""
    deadline = time.monotonic() + HANGS_SECONDS
    while time.monotonic() < deadline:
        found = reached()
        if found:
            return found
        time.sleep(0.3)
    described = "\n".join(cli.describe() for cli in _IN_USE)
    pytest.fail(f"it never came: {what}\n{described}")


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
def wait_until_fixture() -> Callable[[Callable[[], Any], str], Any]:
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
    runner.stop()
